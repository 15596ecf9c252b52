package transform

import "github.com/texel-ml/texel/relay"

var depthRows = []row{
	{name: "pixel_shuffle", why: "as PyTorch writes pixel_shuffle: the block is the inner part of the channels", build: func(g *graph) relay.Expr {
		return g.reshape(g.transpose(g.reshape(g.input("x", 1, 12, 2, 3), 1, 3, 2, 2, 2, 3), 0, 1, 4, 2, 5, 3), 1, 3, 4, 6)
	}},
	{name: "outer_block", why: "the block is the outer part of the channels", build: func(g *graph) relay.Expr {
		return g.reshape(g.transpose(g.reshape(g.input("x", 1, 12, 2, 3), 1, 2, 2, 3, 2, 3), 0, 3, 4, 1, 5, 2), 1, 3, 4, 6)
	}},
	{name: "space_to_depth", why: "the other way", build: func(g *graph) relay.Expr {
		return g.reshape(g.transpose(g.reshape(g.input("x", 1, 3, 4, 6), 1, 3, 2, 2, 3, 2), 0, 1, 3, 5, 2, 4), 1, 12, 2, 3)
	}},
	{name: "channels_last", why: "with channels innermost", build: func(g *graph) relay.Expr {
		return g.reshape(g.transpose(g.reshape(g.input("x", 1, 2, 3, 12), 1, 2, 3, 2, 2, 3), 0, 1, 3, 2, 4, 5), 1, 4, 6, 3)
	}},
	{name: "columns_before_rows", why: "the block turned round is none", keeps: true, build: func(g *graph) relay.Expr {
		return g.reshape(g.transpose(g.reshape(g.input("x", 1, 12, 2, 3), 1, 3, 2, 2, 2, 3), 0, 1, 4, 3, 5, 2), 1, 3, 4, 6)
	}},
	{name: "reshape_alone", why: "the same shapes without moving", keeps: true, build: func(g *graph) relay.Expr {
		return g.reshape(g.reshape(g.input("x", 1, 12, 2, 3), 72), 1, 3, 4, 6)
	}},
}
