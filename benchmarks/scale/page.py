PAGE = None
