"""The omnigraph command."""
