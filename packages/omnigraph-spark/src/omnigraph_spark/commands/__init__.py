"""The verbs of ``omnigraph spark``. Only the command line imports these modules, see ``omnigraph_cli.verbs``."""
