"""Policies in processes of their own."""
