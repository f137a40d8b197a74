"""Instruments: what watches passes without being part of them (`base.Instrument`)."""
