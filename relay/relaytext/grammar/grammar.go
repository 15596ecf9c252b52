// Package grammar is the lexer and the parser that ANTLR generates from relay/relaytext/Relay.g4; make grammar makes
// it anew. The rules and tokens are described there.
package grammar
