import mistune

TEXT = """# Title *one*

A paragraph with **bold**, `code`, [a link](http://x.y "t") and ![img](a.png).
Second line with \\*escape\\* <b>html</b> & entity.

- item one
- item two
  - nested

    more
1. first
2. second

> quote
> > deeper

```py
x = 1 < 2
```

    indented

Setext
------

***

[ref]: http://ref.example
See [ref] and <http://auto.link>.  
Hard break.
"""
print(mistune.html(TEXT))
markdown = mistune.create_markdown(renderer=None)
print(markdown("## head\n\n* a\n* b `c`\n"))
extended = mistune.create_markdown(plugins=["strikethrough", "table", "footnotes", "task_lists"])
print(extended("~~gone~~ note[^1]\n\n| a | b |\n|:--|--:|\n| 1 | 2 |\n\n- [x] done\n- [ ] open\n\n[^1]: the note\n"))
