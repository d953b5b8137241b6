"""The 3-D surface of one contender, as IOzone draws it."""

from dataclasses import replace

import plotly.graph_objects as go

from fsbench_web.compare.pictures.base import Picture
from fsbench_web.compare.pictures.drawable import Contender
from fsbench_web.compare.pictures.heat_map import HeatMap
from fsbench_web.figures import surface
from fsbench_web.studies.scores.cells import Matrix

_JOINED = "The surface joins neighbouring cells for the eye; measured are the markers alone."


class Surface(HeatMap):
    slug = "surface"
    label = "3-D surface"
    words = "One contender, as IOzone draws it."

    def draw_contender(self, contender: Contender) -> Picture:
        picture = super().draw_contender(contender)
        if picture.figure is None:
            return picture
        return replace(picture, notes=[*picture.notes, _JOINED])

    def figure(self, contender: Contender, matrix: Matrix) -> go.Figure:
        return surface.surface(**self.figure_arguments(contender, matrix))
