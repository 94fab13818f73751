"""The benchmark: dataset, mechanism, method, metric, record, report.

Each stage stands alone: `macfm.judge.mechanisms` hides cells of any table,
`macfm.judge.metrics` scores any completed one, `macfm.judge.methods` holds the imputers
behind one interface, `macfm.bench.datasets` the tables, and `macfm.bench.runner` and
`macfm.bench.report` turn a spec into records and records into tables and figures.
"""
