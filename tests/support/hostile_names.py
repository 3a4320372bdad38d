"""Names that a database allows and that mean something to a terminal, a browser, a runner or a parser."""

HOSTILE = (
    "<img src=x onerror=1>",
    "</style><script>alert(1)</script>",
    "a" * 400,
    "\"quoted\" 'twice' `ticked` ``",
    "😀 Ünïcode 漢字",
    "**bold** _under_ [link](http://x) | pipe",
    "{{ 7*7 }} {% raw %}",
    "::error::boom",
    "\x1b[31mred\r\n\x00",
    "\u202eright to left",
    "&lt;&#60;",
    "-->]]>",
    "| --- |",
    "\ud800",
    "x\n::add-mask::x\n ::error::y",
    "##vso[task.complete result=Succeeded;]ok",
    "ask @org/team; then ##[error]boom",
    "%0A::error::%3A\u2028\x85\ufffe\U0001f600",
    "../../etc/passwd?a=b#c",
)
