"""A plugin of pytest (`-p pipeline_plugin`): zarr-python finds our pipeline without an installed package, and the fallbacks are printed."""

import zarrkit

# Registers the pipeline, as the entry point of an installed package does.
_ = zarrkit.Pipeline


def pytest_terminal_summary(terminalreporter):
    found = sorted(zarrkit.fallbacks().items(), key=lambda item: -item[1])
    terminalreporter.write_line(f"zarrkit fallbacks: {sum(count for _, count in found)}")
    for reason, count in found:
        terminalreporter.write_line(f"  {count:6} {reason}")
