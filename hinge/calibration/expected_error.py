"""The error to expect on new rows, with a confidence interval, from leave-one-out errors and their variance."""

Z = 1.96
"""The 97.5% quantile of the normal distribution, for intervals of 95%."""


def error_interval(error: float, std: float, most: float = float("inf")) -> tuple[float, float]:
    """Both ends of the 95% confidence interval of an error, within 0 and `most`.

    With the leave-one-out errors :math:`e_i` of n rows, :math:`\\bar e \\pm 1.96\\,s/\\sqrt n`. It takes them as
    independent; they are not quite, since the fits share all rows but two.

    Parameters
    ----------
    error, std : float
        The mean error, and its standard error.
    most : float
        1 for an error rate.
    """
    return max(0.0, error - Z * std), min(most, error + Z * std)


def error_in_words(error: float, std: float, is_rate: bool) -> str:
    """An error and its interval as text, in percent if it is a rate."""
    low, high = error_interval(error, std, 1.0 if is_rate else float("inf"))
    form = "{:.2%}" if is_rate else "{:.4g}"
    return f"{form.format(error)} (95% interval: {form.format(low)} to {form.format(high)})"
