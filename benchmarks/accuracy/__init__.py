"""The paper's tables and figures made again, and the evidence for the defaults of `MMFS`."""
