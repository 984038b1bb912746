"""Max-min problems to a certified gap, against the solver that a user would pick.

    python benchmarks/maxmin.py [--only guarantee semidefinite game margin ball disk reads] [--seeds 5]

guarantee     Algorithms 1 and 3 of the survey, and their kin for balls, at T = 4 log n / eps^2: the share of
100
              runs whose answer is within eps of the exact value (Clarabel), and whether the certificate held
              it.
semidefinite  seconds to a certified relative gap of 1e-1, 1e-2, 1e-3; SCS at eps 1e-2, whose answers are
              certified by the same bounds.
game          the same, against both of HiGHS' methods, which are exact.
margin        the same, against LinearSVC (hinge, C = 100, no bias) and the one-class machine of LIBSVM, which
              solves exactly this problem; how much of the margin they lose is beside them.
ball          the same, against Clarabel (a second-order cone program) and the package miniball where it is
there. disk          30,000 x 30,000 on disk, cold cache: bytes really read at eps = .1, and seconds against
one pass. reads         20,000 x 20,000: entries read by the sublinear perceptron at eps = .1.

Instances are synthetic (`maxmin_instances`, `ball_instances`), one for each seed; times are medians over
them, ours and the peers' in turn, without compilation. Run it alone: the machine's other work shows in the
times.
"""

import argparse
import math
import os
import shutil
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import hinge
from hinge.access import DenseTable
from hinge.monitoring import Stop
from hinge.problems.max_min.base import Strategies
from hinge.problems.max_min.enclosing_ball import EnclosingBall
from hinge.problems.max_min.max_margin import MaxMargin
from hinge.problems.max_min.symmetric import Semidefinite
from hinge.solvers.driver import solve
from hinge.solvers.saddle.primal_dual import PrimalDual

sys.path.insert(0, str(Path(__file__).parent))
import ball_instances
import maxmin_instances as instances
import maxmin_peers as peers

EPS = (1e-1, 1e-2, 1e-3)


def timed(call):
    """Seconds and answer of a call."""
    began = time.perf_counter()
    answer = call()
    return time.perf_counter() - began, answer


def race(name, ours, theirs, seeds, note):
    """Ours at each eps and the peers, in turn, over the instances; medians, and ratios of peers to ours.

    `ours(instance, eps)` gives a result with `passes`; `theirs` are names and calls that return the peer's
    own seconds, without our conversions and checks, and a remark.
    """
    times = {key: [] for key in [*EPS, *theirs]}
    passes = {eps: [] for eps in EPS}
    remarks = {}
    for seed in range(seeds):
        instance = note["make"](seed)
        for eps in EPS:
            if seed == 0:
                ours(instance, eps)  # compiled and in the cache
            seconds, found = timed(lambda e=eps, i=instance: ours(i, e))
            if found.gap > eps:
                sys.exit(f"{name}: a gap of {found.gap:g} is not {eps:g}.")
            times[eps].append(seconds)
            passes[eps].append(found.passes)
        for peer, call in theirs.items():
            if seed < note.get("peer_seeds", seeds):
                seconds, remarks[peer] = call(instance)
                times[peer].append(seconds)
    print(f"\n{name}, {seeds} instances")
    for eps in EPS:
        print(f"  ours to {eps:g}{'':8}{np.median(times[eps]):9.4f} s  {np.median(passes[eps]):7.2f} passes")
    for peer in theirs:
        seconds = np.median(times[peer])
        ratios = "  ".join(f"{seconds / np.median(times[eps]):.1f}x at {eps:g}" for eps in EPS)
        print(f"  {peer:24}{seconds:9.4f} s  {ratios}  {remarks[peer]}", flush=True)


# --- the guarantee ----------------------------------------------------------------------------


def guarantee(options):
    families = {
        "margin, planted": ("margin", lambda: instances.planted(300, 50, 0.2)),
        "margin, decaying spectrum": ("margin", lambda: instances.decaying(300, 50, 0.15)),
        "margin, rare rows": ("margin", lambda: instances.rare(300, 50, 5)),
        "margin, digits 0 and 1": ("margin", instances.digits),
        "margin, not separable": ("margin", lambda: instances.planted(300, 20, 0.0, signs=True)),
        "ball, gauss": ("ball", lambda: instances.unit(ball_instances.gauss(300, 50, 0).astype(float))),
        "semidefinite, planted": ("sdp", lambda: instances.semidefinite_dense(8, 50, 0).astype(float)),
    }
    print(f"\nT = 4 log n / eps^2, {options.runs} runs each: within eps, worst loss, certificate held")
    for name, (kind, make) in families.items():
        data = make()
        build, exact = {
            "margin": (lambda d=data: MaxMargin(d, relative=False), peers.clarabel_margin),
            "ball": (lambda d=data: EnclosingBall(d, relative=False), lambda d: -ball_instances.clarabel_ball(d)[1]),
            "sdp": (
                lambda d=data: Semidefinite(d / frobenius(d), relative=False),
                lambda d: peers.exact_semidefinite(d / frobenius(d)),
            ),
        }[kind]
        value, units = exact(data), build().scale
        for eps in (0.2, 0.1, 0.05):
            losses, held = [], 0
            for seed in range(options.runs):
                problem = build()
                T = math.ceil(4 * math.log(problem.n) / eps**2)
                c = 2.0 / math.sqrt(problem.second_moment)  # that T, whatever the estimate's moment
                ended = solve(problem, PrimalDual("fixed", eps * units, c), stop=Stop(0), seed=seed)
                assert ended.n_iter <= T + 1
                lower, upper = ended.certificate[:2]
                losses.append((value - float(problem.values(ended.solution.x).min())) / units)
                held += lower - 1e-6 <= value <= upper + 1e-6
            good = np.mean(np.array(losses) <= eps)
            print(
                f"  {name:28} eps {eps:<5} T {T:6} {good:7.0%} {max(losses):9.4f} {held / options.runs:7.0%}",
                flush=True,
            )


def frobenius(A):
    return np.sqrt((A**2).sum(axis=(1, 2))).max()


# --- against peers ----------------------------------------------------------------------------


def semidefinite(options):
    def scs(problem):
        answer = peers.scs_semidefinite(problem, 1e-2)
        gap = problem.certificate(Strategies(problem.project(answer.x), answer.p)).gap
        return answer.seconds, f"SCS says {answer.status}; certified gap {gap:.2g}"

    sizes = [("dense", 100, 2000), ("sparse", 100, 2000), ("rank one", 100, 2000), ("dense", 300, 2000)]
    for kind, n, m in sizes:
        make = {
            "dense": lambda s, n=n, m=m: Semidefinite(instances.semidefinite_dense(n, m, s)),
            "sparse": lambda s, n=n, m=m: Semidefinite(instances.semidefinite_sparse(n, m, s)),
            "rank one": lambda s, n=n, m=m: Semidefinite.from_factors(*instances.semidefinite_rank_one(n, m, s)),
        }[kind]
        run_scs = {} if n > 100 or kind == "rank one" else {"SCS, eps 1e-2": scs}
        race(
            f"semidefinite, {kind}, n={n}, m={m}",
            hinge.semidefinite,
            run_scs,
            options.seeds,
            dict(make=make, peer_seeds=1 if kind == "dense" else options.seeds),
        )


def game(options):
    for kind in ("random", "low rank", "small support"):
        for n in (300, 1000):
            theirs = {
                "HiGHS interior point": lambda A: peers.highs_game(A, "highs-ipm"),
                "HiGHS simplex": lambda A: peers.highs_game(A, "highs-ds"),
            }
            make = {
                "random": instances.random_game,
                "low rank": instances.low_rank_game,
                "small support": instances.small_support_game,
            }[kind]
            race(
                f"game, {kind}, {n} x {n}",
                hinge.solve_game,
                theirs,
                options.seeds,
                dict(make=lambda s, n=n, make=make: make(n, n, s), peer_seeds=min(2, options.seeds)),
            )


def margin(options):
    for kind in ("planted", "decaying"):
        for n, d in ((1_000, 1_000), (10_000, 1_000), (100_000, 1_000), (10_000, 10_000)):
            make = {"planted": instances.planted, "decaying": instances.decaying}[kind]
            theirs = {"LinearSVC": peers.linear_svc_margin}
            if n * d <= 10_000_000:
                theirs["LIBSVM one-class"] = peers.one_class_margin
            race(
                f"margin, {kind}, {n} x {d}",
                lambda A, eps: hinge.max_margin(A, eps=eps),
                theirs,
                options.seeds,
                dict(
                    make=lambda s, n=n, d=d, make=make: make(n, d, 0.15, seed=s).astype(np.float32),
                    peer_seeds=min(2, options.seeds),
                ),
            )


def clarabel(A):
    seconds = []
    _, sq_radius = ball_instances.clarabel_ball(A, 1e-4, seconds.append)
    return seconds[0], f"R² {sq_radius:.6g}"


def ball(options):
    for kind in ("gauss", "decay", "heavy"):
        for n, d in ((1_000, 100), (5_000, 100), (100_000, 1_000)):
            theirs = {}
            if n <= 5_000:
                theirs["Clarabel"] = clarabel
            make = getattr(ball_instances, kind)
            race(
                f"ball, {kind}, {n} x {d}",
                lambda A, eps: hinge.enclosing_ball(A, eps),
                theirs,
                options.seeds,
                dict(make=lambda s, n=n, d=d, make=make: make(n, d, s), peer_seeds=1),
            )


# --- few reads --------------------------------------------------------------------------------


def reads(options):
    n = 20_000
    print(f"\nsublinear perceptron, {n:,} x {n:,}, eps .1 absolute, with the certificate of a fraction")
    for name, make in (("planted", instances.planted), ("rare", lambda n, d, m, seed: instances.rare(n, d, 10, seed))):
        for seed in range(min(3, options.seeds)):
            A = make(n, n, 0.15, seed=seed).astype(np.float32)
            table = DenseTable(A, columns=np.ascontiguousarray(A.T))
            seconds, found = timed(
                lambda t=table, s=seed: hinge.max_margin(
                    t, eps=0.1, relative=False, method="sublinear", certificate="fraction", random_state=s
                )
            )
            x = found.x / np.linalg.norm(found.x)
            print(
                f"  {name}, seed {seed}: {found.passes:7.2%} of the entries, {seconds:.2f} s, margin in "
                f"[{found.lower:.3f}, {found.upper:.3f}], {np.mean(A @ x < found.lower):.2%} of the rows "
                f"below; {found.certificate}",
                flush=True,
            )


def disk(options):
    from on_disk import drop_cache, read_bytes

    from hinge.access.two_way.reader import open_pair
    from hinge.access.two_way.writer import write_pair

    n = 30_000
    folder = (options.folder or Path(tempfile.mkdtemp())) / "planted"
    size = 4 * n * n
    if not folder.exists():
        seconds, _ = timed(lambda: write_pair(instances.planted_blocks(n, n, 0.15), folder, shape=(n, n), dtype="f4"))
        print(f"\npair written in {seconds:.0f} s")
    small = instances.planted(300, 300, 0.15)
    hinge.max_margin(small, eps=0.2, relative=False, method="sublinear", certificate="fraction")  # compiled
    print(f"margin on disk, {n:,} x {n:,} float32, {size / 1e9:.1f} GB by rows and by columns, cold cache")
    try:
        for seed in range(options.seeds):
            drop_cache(folder)
            before = read_bytes()
            seconds, found = timed(
                lambda s=seed: hinge.max_margin(open_pair(folder), eps=0.1, relative=False, radius=1.0, random_state=s)
            )
            share = (read_bytes() - before) / size
            drop_cache(folder)
            one_pass, _ = timed(lambda: sequential(folder / "rows"))
            print(
                f"  seed {seed}: {share:.2%} of the bytes, {seconds:.2f} s; one pass {one_pass:.2f} s, "
                f"{one_pass / seconds:.1f}x; margin in [{found.lower:.3f}, {found.upper:.3f}]; "
                f"{found.certificate}",
                flush=True,
            )
    finally:
        if options.folder is None:
            shutil.rmtree(folder.parent)


def sequential(path, block=1000 * 30_000 * 4):
    """Read a file from its beginning to its end."""
    total = 0.0
    with open(path, "rb", buffering=0) as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        buffer = bytearray(block)
        while count := file.readinto(buffer):
            total += count
    return total


TABLES = {f.__name__: f for f in (guarantee, semidefinite, game, margin, ball, disk, reads)}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=100, help="of each case of the guarantee")
    parser.add_argument("--folder", type=Path, help="where to write the pair of `disk`, and keep it")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # peers warn that they have not converged
    for table in given.only:
        TABLES[table](given)
