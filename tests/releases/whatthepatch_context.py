"""The line numbers of a patch whose hunk has more context lines than its header says."""

import whatthepatch

PATCH = """\
--- lao
+++ tzu
@@ -1,3 +1,4 @@
 The Way
-that can be told
+that can be told of
+is not the eternal Way;
 The name
 that can be named
-is not the eternal name.
+is not the eternal name;
"""

for diff in whatthepatch.parse_patch(PATCH):
    for change in diff.changes:
        print(change.old, change.new, change.line)
