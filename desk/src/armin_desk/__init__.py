"""The recourse desk: a small web server over one packed explainer, with a page for people and an API for programs.

``armin_desk.app.create_app`` builds the server, ``armin_desk.serve.serve`` runs it. ``armin_desk.letter``
writes letters.
"""
