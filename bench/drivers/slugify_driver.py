from slugify import slugify, smart_truncate

for text in ("This is a test ---", "影師嗎", "C'est déjà l'été.", "jaja---lol-méméméoo--a", "10 | 20 %", "&amp; &#381; &#x17D; x", "the quick brown fox jumps over the lazy dog"):
    print(slugify(text), slugify(text, allow_unicode=True), slugify(text, separator="_", lowercase=False))
    print(slugify(text, max_length=12), slugify(text, max_length=12, word_boundary=True), slugify(text, max_length=14, word_boundary=True, save_order=True))
    print(slugify(text, stopwords=["the", "a"], replacements=[["|", "or"], ["%", "percent"]]))
    print(slugify(text, regex_pattern=r"[^-a-z0-9_]+", entities=False, decimal=False, hexadecimal=False))
print(smart_truncate("one two three four", 9, word_boundary=True), smart_truncate("one", 9), smart_truncate("one two", 0))
