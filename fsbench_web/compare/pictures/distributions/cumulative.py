"""The cumulative distribution of a latency, of the percentiles that were measured."""

from fsbench_web.compare.pictures.distributions.percentiles import Percentiles
from fsbench_web.figures import shares


class Cumulative(Percentiles):
    slug = "cdf"
    label = "CDF"
    words = "Which share of all operations took at most how long; further left is better."
    figure_of = staticmethod(shares.cdf)
