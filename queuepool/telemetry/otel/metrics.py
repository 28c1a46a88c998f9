"""The metrics of a Prometheus registry as OTLP: the same names, labels and figures. Pure.

A counter is called as its family, without `_total`, which readers of OTLP add again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.core import Metric as Family
from prometheus_client.samples import Exemplar as Linked
from prometheus_client.samples import Sample

_UNITS = {"_seconds": "s", "_bytes": "By"}
_CUMULATIVE = AggregationTemporality.CUMULATIVE
_Labels: TypeAlias = tuple[tuple[str, str], ...]


def converted(
    families: Iterable[Family], resource: Resource, began_ns: int, now_ns: int
) -> MetricsData:
    """Return the current samples of a registry. began_ns: when its counters were 0."""
    metrics = [metric for family in families for metric in _metrics(family, began_ns, now_ns)]
    scope = ScopeMetrics(scope=InstrumentationScope("queuepool"), metrics=metrics, schema_url="")
    of = ResourceMetrics(resource=resource, scope_metrics=[scope], schema_url="")
    return MetricsData(resource_metrics=[of])


def _metrics(family: Family, began_ns: int, now_ns: int) -> Iterator[Metric]:
    data: Sum | Gauge | Histogram
    if family.type == "histogram":
        data = Histogram(
            data_points=list(_histograms(family.samples, began_ns, now_ns)),
            aggregation_temporality=_CUMULATIVE,
        )
    else:
        is_counter = family.type == "counter"
        points = [
            NumberDataPoint(dict(each.labels), began_ns if is_counter else 0, now_ns, each.value)
            for each in family.samples
            if not each.name.endswith("_created")
        ]
        data = Sum(points, _CUMULATIVE, is_monotonic=True) if is_counter else Gauge(points)
    if data.data_points:
        unit = next((u for end, u in _UNITS.items() if family.name.endswith(end)), "")
        yield Metric(
            name=family.name, description=family.documentation, unit=family.unit or unit, data=data
        )


def _histograms(
    samples: Iterable[Sample], began_ns: int, now_ns: int
) -> Iterator[HistogramDataPoint]:
    buckets: dict[_Labels, list[Sample]] = {}
    sums: dict[_Labels, float] = {}
    for sample in samples:
        labels = tuple(item for item in sample.labels.items() if item[0] != "le")
        if sample.name.endswith("_bucket"):
            buckets.setdefault(labels, []).append(sample)
        elif sample.name.endswith("_sum"):
            sums[labels] = sample.value
    for labels, rows in buckets.items():
        totals = [int(row.value) for row in rows]
        yield HistogramDataPoint(
            attributes=dict(labels),
            start_time_unix_nano=began_ns,
            time_unix_nano=now_ns,
            count=totals[-1],
            sum=sums.get(labels, 0.0),
            bucket_counts=[n - m for m, n in zip([0, *totals], totals, strict=False)],
            explicit_bounds=[float(row.labels["le"]) for row in rows[:-1]],
            min=float("nan"),
            max=float("nan"),
            exemplars=[_exemplar(row.exemplar, now_ns) for row in rows if row.exemplar],
        )


def _exemplar(linked: Linked, now_ns: int) -> Exemplar:
    at_ns = now_ns if linked.timestamp is None else int(float(linked.timestamp) * 1e9)
    trace_id, span_id = (int(linked.labels[name], 16) for name in ("trace_id", "span_id"))
    return Exemplar({}, linked.value, at_ns, span_id, trace_id)
