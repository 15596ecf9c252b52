package relaygen

import "github.com/texel-ml/texel/relay"

var patterns = map[string]func(g *Gen) relay.Expr{}
