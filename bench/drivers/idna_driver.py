import idna

for name in ("ドメイン.テスト", "bücher.example", "faß.de", "xn--bcher-kva", "ليهمابتكلموشعربي؟", "a-b.c", "-bad", "ex_ample", "a..b", "x" * 70, "ab--cd", "שלום"):
    for function in (idna.encode, idna.decode, lambda n: idna.encode(n, uts46=True), lambda n: idna.encode(n, strict=True)):
        try:
            print(function(name))
        except (idna.IDNAError, UnicodeError) as problem:
            print(type(problem).__name__, problem)
print(idna.alabel("königsgäßchen"), idna.ulabel("xn--knigsgchen-b4a3dun"), idna.uts46_remap("KÖNIG", False))
for label in ("a\u200cb", "क्\u200dष", "l·l", "α͵β", "א״ב", "カ・タ"):
    try:
        print(idna.check_label(label))
    except idna.IDNAError as problem:
        print(problem)
