"""An order whose empty element holds a line break."""

import json

import xmltodict

ORDER = """\
<order>
  <item> tea </item>
  <note>
  </note>
</order>
"""
print(json.dumps(xmltodict.parse(ORDER)))
