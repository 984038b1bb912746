"""The catalog's table: the papers' data sets and a few more that are easily had."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Preparation = Literal["as stored", "unit rows", "unit columns", "pixels"]

PEGASOS = "Pegasos (Shalev-Shwartz, Singer, Srebro 2007)"
SIMBA = "SVM-SIMBA (Hazan, Koren, Srebro 2011)"
SBP = "SBP (Cotter, Shalev-Shwartz, Srebro 2012)"
LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
LASVM = "https://leon.bottou.org/projects/lasvm"


@dataclass(frozen=True)
class Entry:
    """One line of the catalog.

    Attributes
    ----------
    name : str
        What to pass to :func:`hinge.datasets.load`.
    rows : str
        Training and test rows.
    features : int
        Number of columns; 0 if only the file knows.
    description : str
        What the rows are.
    paper : str
        Which paper's experiments use it.
    task : str
        What +1 stands for.
    how : str
        How to get it.
    source, license : str
        Where it comes from and on what terms.
    positive : str or int or None
        The class that `load` makes +1 when the stored labels are not -1 and +1 already.
    preparation : str
        What is done to the rows: nothing, scaled to unit norm, columns to [0, 1], or pixels divided by 255.
    train_rows : int
        Where to cut a copy that comes without a test part, after a shuffle by a fixed seed; 0 for no cut.
    aliases : tuple of str
        Other names, also of files in the data folder.
    fetcher : str
        scikit-learn's function for it, if there is one.
    found : str
        "bundled", the file it would be read from, or nothing.
    stand_in : str
        What is like it and always at hand.

    Examples
    --------
    >>> from hinge.datasets import catalog
    >>> entry = next(entry for entry in catalog() if entry.name == "adult")
    >>> entry.features, entry.license
    (123, 'CC BY 4.0 (Barry Becker and Ronny Kohavi, 1996)')
    """

    name: str
    rows: str
    features: int
    description: str
    paper: str
    task: str
    how: str
    source: str
    license: str
    positive: str | int | None = None
    preparation: Preparation = "as stored"
    train_rows: int = 0
    aliases: tuple[str, ...] = ()
    fetcher: str = ""
    found: str = ""
    stand_in: str = ""


ENTRIES = (
    Entry(
        name="adult",
        rows="32,561 + 16,281",
        features=123,
        description="Census records in 123 binary features, 14 of them set in most rows (LIBSVM's a9a).",
        paper=SBP,
        task="income above 50,000 dollars a year",
        how="comes with hinge",
        source="UCI Machine Learning Repository, https://doi.org/10.24432/C5XW20",
        license="CC BY 4.0 (Barry Becker and Ronny Kohavi, 1996)",
        aliases=("a9a",),
    ),
    Entry(
        name="ccat",
        rows="781,265 + 23,149",
        features=47236,
        description="Reuters newswire stories (RCV1), unit tf-idf rows; trained on the larger official part.",
        paper=PEGASOS,
        task="topic CCAT, corporate and industrial, against the rest",
        how="fetch=True downloads RCV1 (about 0.7 GB) through scikit-learn",
        source="Lewis, Yang, Rose, Li (2004), RCV1: a new benchmark collection, JMLR 5",
        license="research use; see the RCV1-v2 terms",
        positive="CCAT",
        aliases=("rcv1", "rcv1-ccat"),
        fetcher="fetch_rcv1",
        stand_in="hinge.datasets.make_subtle_text(780_000, n_test=23_149)",
    ),
    Entry(
        name="astro-ph",
        rows="29,882 + 32,487",
        features=99757,
        description="Abstracts of physics papers as sparse word vectors.",
        paper=PEGASOS,
        task="filed under astro-ph",
        how="was handed out by T. Joachims; no public download is known",
        source="Joachims (2006), Training linear SVMs in linear time, KDD",
        license="unknown",
        aliases=("astroph",),
        stand_in="hinge.datasets.make_subtle_text(29_882, 99_757, 77, n_test=32_487)",
    ),
    Entry(
        name="covertype",
        rows="522,910 + 58,102",
        features=54,
        description="Forest cover by cartographic variables, columns scaled to [0, 1].",
        paper=PEGASOS,
        task="cover type 1, spruce and fir, against the rest",
        how="fetch=True downloads it through scikit-learn",
        source="UCI Machine Learning Repository, https://doi.org/10.24432/C50K5N",
        license="CC BY 4.0 (Jock Blackard, 1998)",
        positive=1,
        preparation="unit columns",
        train_rows=522910,
        aliases=("covtype",),
        fetcher="fetch_covtype",
        stand_in="sklearn.datasets.make_classification(100_000, 54)",
    ),
    Entry(
        name="news20",
        rows="8,000 + 11,996",
        features=1355191,
        description="Newsgroup posts, binary words and phrases as unit rows; scikit-learn's copy has"
        " 11,314 + 7,532 rows of 130,107 words.",
        paper=SIMBA,
        task="the comp, sci and misc.forsale groups against the other ten",
        how=f"put news20.binary.bz2 from {LIBSVM} there; fetch=True takes scikit-learn's 20 newsgroups",
        source="Keerthi, DeCoste (2005), JMLR 6; Lang (1995)",
        license="public posts; no licence is stated",
        preparation="unit rows",
        train_rows=8000,
        aliases=("news20.binary", "news20-trigram"),
        fetcher="fetch_20newsgroups_vectorized",
        stand_in="hinge.datasets.make_text(8_000, 300_000, 400, n_test=4_000)",
    ),
    Entry(
        name="real-sim",
        rows="20,000 + 52,309",
        features=20958,
        description="Usenet posts on simulated and on real cars and planes, unit tf-idf rows.",
        paper=SIMBA,
        task="real against simulated",
        how=f"put real-sim.bz2 from {LIBSVM} there",
        source="A. McCallum, SRAA; the coding of the LIBSVM collection",
        license="no licence is stated",
        train_rows=20000,
        aliases=("realsim",),
        stand_in="hinge.datasets.make_text(20_000, 20_958, 52, n_test=10_000)",
    ),
    Entry(
        name="reuters",
        rows="7,770 + 3,299",
        features=8315,
        description="Reuters newswire stories as unit tf-idf rows.",
        paper=SBP,
        task="topic money-fx",
        how=f"put the training and test files from {LASVM} there as reuters.train and reuters.test",
        source=LASVM,
        license="research use",
        aliases=("reuters-money-fx", "money-fx"),
        stand_in="hinge.datasets.make_text(7_770, 8_315, 60, n_test=3_299)",
    ),
    Entry(
        name="mnist",
        rows="60,000 + 10,000",
        features=784,
        description="Images of handwritten digits, 28 by 28 pixels scaled to [0, 1].",
        paper=SBP,
        task="8 against the other digits",
        how="fetch=True downloads mnist_784 from OpenML through scikit-learn",
        source="LeCun, Cortes, Burges, http://yann.lecun.com/exdb/mnist/",
        license="CC BY-SA 3.0 (Yann LeCun and Corinna Cortes)",
        positive=8,
        preparation="pixels",
        aliases=("mnist-784",),
        fetcher="fetch_openml",
        stand_in="sklearn.datasets.load_digits()",
    ),
    Entry(
        name="usps",
        rows="7,291 + 2,007",
        features=256,
        description="Images of handwritten digits from envelopes, 16 by 16 pixels.",
        paper="a smaller companion of mnist",
        task="ten classes, until you choose one with positive",
        how=f"put usps.bz2 and usps.t.bz2 from {LIBSVM} there",
        source="Hull (1994), A database for handwritten text recognition research",
        license="no licence is stated",
    ),
    Entry(
        name="rcv1-small",
        rows="1,000 + 500",
        features=47236,
        description="A small piece of RCV1 as unit tf-idf rows.",
        paper="a piece of ccat",
        task="topic CCAT against the rest",
        how="needs your own copy",
        source="Lewis, Yang, Rose, Li (2004), JMLR 5",
        license="research use; see the RCV1-v2 terms",
        preparation="unit rows",
    ),
    Entry(
        name="news20-unigram",
        rows="11,314 + 7,532",
        features=44654,
        description="Newsgroup posts, word counts as unit rows.",
        paper="a narrow companion of news20",
        task="the comp, sci and misc.forsale groups against the other ten",
        how="needs your own copy",
        source="Lang (1995), Newsweeder, ICML",
        license="public posts; no licence is stated",
        preparation="unit rows",
    ),
    Entry(
        name="imdb",
        rows="25,000 + 25,000",
        features=44800,
        description="Film reviews, word counts as unit rows.",
        paper="beyond the papers",
        task="favourable against unfavourable",
        how="needs word counts of the aclImdb reviews in svmlight form",
        source="Maas and others (2011), Learning word vectors for sentiment analysis, ACL",
        license="research use",
        preparation="unit rows",
        aliases=("imdb-unigram",),
        stand_in="hinge.datasets.make_text(25_000, 44_800, 130, n_test=10_000)",
    ),
    Entry(
        name="basehock",
        rows="1,594 + 399",
        features=4862,
        description="Posts of two newsgroups, word counts as unit rows.",
        paper="beyond the papers",
        task="one newsgroup against the other",
        how="needs your own copy",
        source="the feature selection repository of Arizona State University",
        license="public posts; no licence is stated",
        preparation="unit rows",
        train_rows=1594,
    ),
    Entry(
        name="arcene",
        rows="160 + 40",
        features=10000,
        description="Mass spectra of blood, many features on few rows.",
        paper="beyond the papers",
        task="cancer against healthy",
        how="needs your own copy of the UCI files in svmlight, csv or npz form",
        source="UCI Machine Learning Repository; Guyon and others, NIPS 2003 feature selection challenge",
        license="CC BY 4.0",
        train_rows=160,
    ),
    Entry(
        name="madelon",
        rows="2,080 + 520",
        features=500,
        description="Artificial clusters on the corners of a cube, which no linear rule separates.",
        paper="beyond the papers",
        task="one half of the clusters against the other",
        how="needs your own copy of the UCI files in svmlight, csv or npz form",
        source="UCI Machine Learning Repository; Guyon and others, NIPS 2003 feature selection challenge",
        license="CC BY 4.0",
        train_rows=2080,
    ),
)
