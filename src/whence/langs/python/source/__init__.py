"""One model of program text: what Python source says, without running it.

`scopes` knows which names code binds and reads, `bindings` what the names of modules mean,
`definitions` how functions are called and objects constructed, `liveness` which variables are
alive, `code_locations` where code begins, `leading_statements` what must stay first in a body,
`source_parsing` how source is read. Packages that need to know what a name means ask here. This
package knows no trees and no sessions.
"""
