"""Predictors: one file each, made by name through the registry (``predictors``); ``check`` tries one out."""
