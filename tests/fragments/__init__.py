"""The Python fragments of README and documentation, with what each page leaves out.

One module for each topic has its ``FRAGMENTS``; ``tests.test_docs_fragments`` runs them.
"""
