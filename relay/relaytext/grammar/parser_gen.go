// Code generated from Relay.g4 by ANTLR 4.13.1. DO NOT EDIT.

package grammar // Relay
import (
	"fmt"
	"strconv"
	"sync"

	"github.com/antlr4-go/antlr/v4"
)

// Suppress unused import errors
var _ = fmt.Printf
var _ = strconv.Itoa
var _ = sync.Once{}

type RelayParser struct {
	*antlr.BaseParser
}

var RelayParserStaticData struct {
	once                   sync.Once
	serializedATN          []int32
	LiteralNames           []string
	SymbolicNames          []string
	RuleNames              []string
	PredictionContextCache *antlr.PredictionContextCache
	atn                    *antlr.ATN
	decisionToDFA          []*antlr.DFA
}

func relayParserInit() {
	staticData := &RelayParserStaticData
	staticData.LiteralNames = []string{
		"", "'('", "')'", "'{'", "'}'", "'['", "']'", "','", "';'", "':'", "'='",
		"'->'", "'=>'", "'?'", "'=='", "'!='", "'<'", "'<='", "'>'", "'>='",
		"'+'", "'-'", "'*'", "'/'", "'let'", "'fn'", "'def'", "'if'", "'else'",
		"'match'", "'type'", "'extern'", "'free_var'", "'ref'", "'ref_read'",
		"'ref_write'", "'True'", "'False'", "'meta'", "'Tensor'", "", "", "",
		"", "", "", "", "", "", "", "", "'/*'",
	}
	staticData.SymbolicNames = []string{
		"", "LEFT_PAREN", "RIGHT_PAREN", "LEFT_BRACE", "RIGHT_BRACE", "LEFT_BRACKET",
		"RIGHT_BRACKET", "COMMA", "SEMICOLON", "COLON", "ASSIGN", "ARROW", "CASE_ARROW",
		"QUESTION", "EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL",
		"PLUS", "MINUS", "TIMES", "DIVIDE", "LET", "FN", "DEF", "IF", "ELSE",
		"MATCH", "TYPE", "EXTERN", "FREE_VAR", "REF", "REF_READ", "REF_WRITE",
		"TRUE", "FALSE", "META", "TENSOR", "VERSION", "METADATA", "NUMBER",
		"GLOBAL", "LOCAL", "NAME", "FIELD", "STRING", "SPACES", "LINE_COMMENT",
		"COMMENT", "OPEN_COMMENT", "OPEN_STRING", "UNKNOWN",
	}
	staticData.RuleNames = []string{
		"module", "item", "definition", "typeDefinition", "constructor", "externType",
		"typeParameters", "signature", "parameter", "variable", "block", "body",
		"statement", "expression", "relation", "sum", "product", "postfix",
		"arguments", "argument", "projection", "atom", "elements", "function",
		"scrutinee", "clause", "case", "pattern", "patterns", "type", "types",
		"shape", "dimension", "attribute", "name", "value", "values", "number",
		"meta",
	}
	staticData.PredictionContextCache = antlr.NewPredictionContextCache()
	staticData.serializedATN = []int32{
		4, 1, 53, 514, 2, 0, 7, 0, 2, 1, 7, 1, 2, 2, 7, 2, 2, 3, 7, 3, 2, 4, 7,
		4, 2, 5, 7, 5, 2, 6, 7, 6, 2, 7, 7, 7, 2, 8, 7, 8, 2, 9, 7, 9, 2, 10, 7,
		10, 2, 11, 7, 11, 2, 12, 7, 12, 2, 13, 7, 13, 2, 14, 7, 14, 2, 15, 7, 15,
		2, 16, 7, 16, 2, 17, 7, 17, 2, 18, 7, 18, 2, 19, 7, 19, 2, 20, 7, 20, 2,
		21, 7, 21, 2, 22, 7, 22, 2, 23, 7, 23, 2, 24, 7, 24, 2, 25, 7, 25, 2, 26,
		7, 26, 2, 27, 7, 27, 2, 28, 7, 28, 2, 29, 7, 29, 2, 30, 7, 30, 2, 31, 7,
		31, 2, 32, 7, 32, 2, 33, 7, 33, 2, 34, 7, 34, 2, 35, 7, 35, 2, 36, 7, 36,
		2, 37, 7, 37, 2, 38, 7, 38, 1, 0, 3, 0, 80, 8, 0, 1, 0, 5, 0, 83, 8, 0,
		10, 0, 12, 0, 86, 9, 0, 1, 0, 3, 0, 89, 8, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1,
		1, 3, 1, 96, 8, 1, 1, 2, 1, 2, 1, 2, 3, 2, 101, 8, 2, 1, 2, 1, 2, 1, 2,
		1, 2, 1, 2, 3, 2, 108, 8, 2, 1, 3, 1, 3, 1, 3, 3, 3, 113, 8, 3, 1, 3, 1,
		3, 1, 3, 1, 3, 5, 3, 119, 8, 3, 10, 3, 12, 3, 122, 9, 3, 1, 3, 3, 3, 125,
		8, 3, 3, 3, 127, 8, 3, 1, 3, 1, 3, 1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 3, 4,
		136, 8, 4, 1, 5, 1, 5, 1, 5, 1, 5, 3, 5, 142, 8, 5, 1, 5, 3, 5, 145, 8,
		5, 1, 6, 1, 6, 1, 6, 1, 6, 5, 6, 151, 8, 6, 10, 6, 12, 6, 154, 9, 6, 1,
		6, 1, 6, 1, 7, 1, 7, 1, 7, 1, 7, 5, 7, 162, 8, 7, 10, 7, 12, 7, 165, 9,
		7, 3, 7, 167, 8, 7, 1, 7, 1, 7, 1, 7, 3, 7, 172, 8, 7, 1, 8, 1, 8, 3, 8,
		176, 8, 8, 1, 9, 1, 9, 1, 9, 1, 9, 1, 9, 5, 9, 183, 8, 9, 10, 9, 12, 9,
		186, 9, 9, 1, 9, 1, 9, 3, 9, 190, 8, 9, 1, 9, 1, 9, 3, 9, 194, 8, 9, 1,
		10, 1, 10, 1, 10, 1, 10, 1, 11, 5, 11, 201, 8, 11, 10, 11, 12, 11, 204,
		9, 11, 1, 11, 1, 11, 1, 12, 1, 12, 1, 12, 1, 12, 1, 12, 1, 12, 1, 12, 1,
		12, 1, 12, 1, 12, 1, 12, 1, 12, 1, 12, 1, 12, 1, 12, 3, 12, 223, 8, 12,
		1, 13, 1, 13, 1, 13, 5, 13, 228, 8, 13, 10, 13, 12, 13, 231, 9, 13, 1,
		14, 1, 14, 1, 14, 5, 14, 236, 8, 14, 10, 14, 12, 14, 239, 9, 14, 1, 15,
		1, 15, 1, 15, 5, 15, 244, 8, 15, 10, 15, 12, 15, 247, 9, 15, 1, 16, 1,
		16, 1, 16, 5, 16, 252, 8, 16, 10, 16, 12, 16, 255, 9, 16, 1, 17, 1, 17,
		1, 17, 5, 17, 260, 8, 17, 10, 17, 12, 17, 263, 9, 17, 1, 18, 1, 18, 1,
		18, 1, 18, 5, 18, 269, 8, 18, 10, 18, 12, 18, 272, 9, 18, 3, 18, 274, 8,
		18, 1, 18, 1, 18, 1, 19, 1, 19, 3, 19, 280, 8, 19, 1, 20, 1, 20, 1, 21,
		1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1,
		21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 3, 21,
		305, 8, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 5, 21, 314,
		8, 21, 10, 21, 12, 21, 317, 9, 21, 1, 21, 3, 21, 320, 8, 21, 3, 21, 322,
		8, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 1, 21, 3, 21, 332,
		8, 21, 1, 22, 5, 22, 335, 8, 22, 10, 22, 12, 22, 338, 9, 22, 1, 22, 1,
		22, 1, 22, 5, 22, 343, 8, 22, 10, 22, 12, 22, 346, 9, 22, 1, 22, 3, 22,
		349, 8, 22, 3, 22, 351, 8, 22, 1, 23, 1, 23, 3, 23, 355, 8, 23, 1, 23,
		1, 23, 1, 23, 1, 24, 1, 24, 1, 25, 1, 25, 1, 25, 1, 25, 1, 26, 1, 26, 1,
		27, 1, 27, 1, 27, 1, 27, 1, 27, 1, 27, 3, 27, 374, 8, 27, 1, 27, 1, 27,
		1, 27, 1, 27, 3, 27, 380, 8, 27, 1, 28, 1, 28, 1, 28, 5, 28, 385, 8, 28,
		10, 28, 12, 28, 388, 9, 28, 1, 28, 3, 28, 391, 8, 28, 3, 28, 393, 8, 28,
		1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1,
		29, 1, 29, 3, 29, 407, 8, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29,
		3, 29, 415, 8, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1, 29, 1,
		29, 1, 29, 1, 29, 1, 29, 3, 29, 428, 8, 29, 1, 30, 1, 30, 1, 30, 5, 30,
		433, 8, 30, 10, 30, 12, 30, 436, 9, 30, 1, 30, 3, 30, 439, 8, 30, 3, 30,
		441, 8, 30, 1, 31, 1, 31, 1, 31, 1, 31, 5, 31, 447, 8, 31, 10, 31, 12,
		31, 450, 9, 31, 1, 31, 3, 31, 453, 8, 31, 3, 31, 455, 8, 31, 1, 31, 1,
		31, 1, 32, 3, 32, 460, 8, 32, 1, 32, 1, 32, 1, 32, 3, 32, 465, 8, 32, 1,
		33, 1, 33, 1, 33, 1, 33, 1, 34, 1, 34, 1, 35, 1, 35, 1, 35, 1, 35, 1, 35,
		1, 35, 1, 35, 1, 35, 1, 35, 1, 35, 1, 35, 1, 35, 1, 35, 3, 35, 486, 8,
		35, 1, 36, 1, 36, 1, 36, 5, 36, 491, 8, 36, 10, 36, 12, 36, 494, 9, 36,
		1, 36, 3, 36, 497, 8, 36, 3, 36, 499, 8, 36, 1, 37, 3, 37, 502, 8, 37,
		1, 37, 1, 37, 1, 38, 1, 38, 1, 38, 1, 38, 1, 38, 1, 38, 1, 38, 1, 38, 1,
		38, 0, 0, 39, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
		32, 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56, 58, 60, 62, 64, 66,
		68, 70, 72, 74, 76, 0, 9, 1, 1, 41, 41, 1, 0, 14, 15, 1, 0, 16, 19, 1,
		0, 20, 21, 1, 0, 22, 23, 1, 0, 36, 37, 1, 0, 33, 35, 4, 0, 24, 31, 33,
		33, 38, 38, 45, 45, 2, 0, 45, 45, 47, 47, 559, 0, 79, 1, 0, 0, 0, 2, 95,
		1, 0, 0, 0, 4, 97, 1, 0, 0, 0, 6, 109, 1, 0, 0, 0, 8, 130, 1, 0, 0, 0,
		10, 137, 1, 0, 0, 0, 12, 146, 1, 0, 0, 0, 14, 157, 1, 0, 0, 0, 16, 175,
		1, 0, 0, 0, 18, 177, 1, 0, 0, 0, 20, 195, 1, 0, 0, 0, 22, 202, 1, 0, 0,
		0, 24, 222, 1, 0, 0, 0, 26, 224, 1, 0, 0, 0, 28, 232, 1, 0, 0, 0, 30, 240,
		1, 0, 0, 0, 32, 248, 1, 0, 0, 0, 34, 256, 1, 0, 0, 0, 36, 264, 1, 0, 0,
		0, 38, 279, 1, 0, 0, 0, 40, 281, 1, 0, 0, 0, 42, 331, 1, 0, 0, 0, 44, 336,
		1, 0, 0, 0, 46, 352, 1, 0, 0, 0, 48, 359, 1, 0, 0, 0, 50, 361, 1, 0, 0,
		0, 52, 365, 1, 0, 0, 0, 54, 379, 1, 0, 0, 0, 56, 392, 1, 0, 0, 0, 58, 427,
		1, 0, 0, 0, 60, 440, 1, 0, 0, 0, 62, 442, 1, 0, 0, 0, 64, 464, 1, 0, 0,
		0, 66, 466, 1, 0, 0, 0, 68, 470, 1, 0, 0, 0, 70, 485, 1, 0, 0, 0, 72, 498,
		1, 0, 0, 0, 74, 501, 1, 0, 0, 0, 76, 505, 1, 0, 0, 0, 78, 80, 5, 40, 0,
		0, 79, 78, 1, 0, 0, 0, 79, 80, 1, 0, 0, 0, 80, 88, 1, 0, 0, 0, 81, 83,
		3, 2, 1, 0, 82, 81, 1, 0, 0, 0, 83, 86, 1, 0, 0, 0, 84, 82, 1, 0, 0, 0,
		84, 85, 1, 0, 0, 0, 85, 89, 1, 0, 0, 0, 86, 84, 1, 0, 0, 0, 87, 89, 3,
		22, 11, 0, 88, 84, 1, 0, 0, 0, 88, 87, 1, 0, 0, 0, 89, 90, 1, 0, 0, 0,
		90, 91, 7, 0, 0, 0, 91, 1, 1, 0, 0, 0, 92, 96, 3, 4, 2, 0, 93, 96, 3, 6,
		3, 0, 94, 96, 3, 10, 5, 0, 95, 92, 1, 0, 0, 0, 95, 93, 1, 0, 0, 0, 95,
		94, 1, 0, 0, 0, 96, 3, 1, 0, 0, 0, 97, 98, 5, 26, 0, 0, 98, 107, 5, 43,
		0, 0, 99, 101, 3, 12, 6, 0, 100, 99, 1, 0, 0, 0, 100, 101, 1, 0, 0, 0,
		101, 102, 1, 0, 0, 0, 102, 103, 3, 14, 7, 0, 103, 104, 3, 20, 10, 0, 104,
		108, 1, 0, 0, 0, 105, 106, 5, 10, 0, 0, 106, 108, 3, 76, 38, 0, 107, 100,
		1, 0, 0, 0, 107, 105, 1, 0, 0, 0, 108, 5, 1, 0, 0, 0, 109, 110, 5, 30,
		0, 0, 110, 112, 5, 45, 0, 0, 111, 113, 3, 12, 6, 0, 112, 111, 1, 0, 0,
		0, 112, 113, 1, 0, 0, 0, 113, 114, 1, 0, 0, 0, 114, 126, 5, 3, 0, 0, 115,
		120, 3, 8, 4, 0, 116, 117, 5, 7, 0, 0, 117, 119, 3, 8, 4, 0, 118, 116,
		1, 0, 0, 0, 119, 122, 1, 0, 0, 0, 120, 118, 1, 0, 0, 0, 120, 121, 1, 0,
		0, 0, 121, 124, 1, 0, 0, 0, 122, 120, 1, 0, 0, 0, 123, 125, 5, 7, 0, 0,
		124, 123, 1, 0, 0, 0, 124, 125, 1, 0, 0, 0, 125, 127, 1, 0, 0, 0, 126,
		115, 1, 0, 0, 0, 126, 127, 1, 0, 0, 0, 127, 128, 1, 0, 0, 0, 128, 129,
		5, 4, 0, 0, 129, 7, 1, 0, 0, 0, 130, 135, 5, 45, 0, 0, 131, 132, 5, 1,
		0, 0, 132, 133, 3, 60, 30, 0, 133, 134, 5, 2, 0, 0, 134, 136, 1, 0, 0,
		0, 135, 131, 1, 0, 0, 0, 135, 136, 1, 0, 0, 0, 136, 9, 1, 0, 0, 0, 137,
		138, 5, 31, 0, 0, 138, 139, 5, 30, 0, 0, 139, 141, 5, 45, 0, 0, 140, 142,
		3, 12, 6, 0, 141, 140, 1, 0, 0, 0, 141, 142, 1, 0, 0, 0, 142, 144, 1, 0,
		0, 0, 143, 145, 5, 8, 0, 0, 144, 143, 1, 0, 0, 0, 144, 145, 1, 0, 0, 0,
		145, 11, 1, 0, 0, 0, 146, 147, 5, 5, 0, 0, 147, 152, 5, 45, 0, 0, 148,
		149, 5, 7, 0, 0, 149, 151, 5, 45, 0, 0, 150, 148, 1, 0, 0, 0, 151, 154,
		1, 0, 0, 0, 152, 150, 1, 0, 0, 0, 152, 153, 1, 0, 0, 0, 153, 155, 1, 0,
		0, 0, 154, 152, 1, 0, 0, 0, 155, 156, 5, 6, 0, 0, 156, 13, 1, 0, 0, 0,
		157, 166, 5, 1, 0, 0, 158, 163, 3, 16, 8, 0, 159, 160, 5, 7, 0, 0, 160,
		162, 3, 16, 8, 0, 161, 159, 1, 0, 0, 0, 162, 165, 1, 0, 0, 0, 163, 161,
		1, 0, 0, 0, 163, 164, 1, 0, 0, 0, 164, 167, 1, 0, 0, 0, 165, 163, 1, 0,
		0, 0, 166, 158, 1, 0, 0, 0, 166, 167, 1, 0, 0, 0, 167, 168, 1, 0, 0, 0,
		168, 171, 5, 2, 0, 0, 169, 170, 5, 11, 0, 0, 170, 172, 3, 58, 29, 0, 171,
		169, 1, 0, 0, 0, 171, 172, 1, 0, 0, 0, 172, 15, 1, 0, 0, 0, 173, 176, 3,
		18, 9, 0, 174, 176, 3, 66, 33, 0, 175, 173, 1, 0, 0, 0, 175, 174, 1, 0,
		0, 0, 176, 17, 1, 0, 0, 0, 177, 189, 5, 44, 0, 0, 178, 179, 5, 3, 0, 0,
		179, 184, 3, 66, 33, 0, 180, 181, 5, 7, 0, 0, 181, 183, 3, 66, 33, 0, 182,
		180, 1, 0, 0, 0, 183, 186, 1, 0, 0, 0, 184, 182, 1, 0, 0, 0, 184, 185,
		1, 0, 0, 0, 185, 187, 1, 0, 0, 0, 186, 184, 1, 0, 0, 0, 187, 188, 5, 4,
		0, 0, 188, 190, 1, 0, 0, 0, 189, 178, 1, 0, 0, 0, 189, 190, 1, 0, 0, 0,
		190, 193, 1, 0, 0, 0, 191, 192, 5, 9, 0, 0, 192, 194, 3, 58, 29, 0, 193,
		191, 1, 0, 0, 0, 193, 194, 1, 0, 0, 0, 194, 19, 1, 0, 0, 0, 195, 196, 5,
		3, 0, 0, 196, 197, 3, 22, 11, 0, 197, 198, 5, 4, 0, 0, 198, 21, 1, 0, 0,
		0, 199, 201, 3, 24, 12, 0, 200, 199, 1, 0, 0, 0, 201, 204, 1, 0, 0, 0,
		202, 200, 1, 0, 0, 0, 202, 203, 1, 0, 0, 0, 203, 205, 1, 0, 0, 0, 204,
		202, 1, 0, 0, 0, 205, 206, 3, 26, 13, 0, 206, 23, 1, 0, 0, 0, 207, 208,
		5, 24, 0, 0, 208, 209, 3, 18, 9, 0, 209, 210, 5, 10, 0, 0, 210, 211, 3,
		26, 13, 0, 211, 212, 5, 8, 0, 0, 212, 223, 1, 0, 0, 0, 213, 214, 5, 44,
		0, 0, 214, 215, 5, 10, 0, 0, 215, 216, 3, 26, 13, 0, 216, 217, 5, 8, 0,
		0, 217, 223, 1, 0, 0, 0, 218, 219, 5, 32, 0, 0, 219, 220, 3, 18, 9, 0,
		220, 221, 5, 8, 0, 0, 221, 223, 1, 0, 0, 0, 222, 207, 1, 0, 0, 0, 222,
		213, 1, 0, 0, 0, 222, 218, 1, 0, 0, 0, 223, 25, 1, 0, 0, 0, 224, 229, 3,
		28, 14, 0, 225, 226, 7, 1, 0, 0, 226, 228, 3, 28, 14, 0, 227, 225, 1, 0,
		0, 0, 228, 231, 1, 0, 0, 0, 229, 227, 1, 0, 0, 0, 229, 230, 1, 0, 0, 0,
		230, 27, 1, 0, 0, 0, 231, 229, 1, 0, 0, 0, 232, 237, 3, 30, 15, 0, 233,
		234, 7, 2, 0, 0, 234, 236, 3, 30, 15, 0, 235, 233, 1, 0, 0, 0, 236, 239,
		1, 0, 0, 0, 237, 235, 1, 0, 0, 0, 237, 238, 1, 0, 0, 0, 238, 29, 1, 0,
		0, 0, 239, 237, 1, 0, 0, 0, 240, 245, 3, 32, 16, 0, 241, 242, 7, 3, 0,
		0, 242, 244, 3, 32, 16, 0, 243, 241, 1, 0, 0, 0, 244, 247, 1, 0, 0, 0,
		245, 243, 1, 0, 0, 0, 245, 246, 1, 0, 0, 0, 246, 31, 1, 0, 0, 0, 247, 245,
		1, 0, 0, 0, 248, 253, 3, 34, 17, 0, 249, 250, 7, 4, 0, 0, 250, 252, 3,
		34, 17, 0, 251, 249, 1, 0, 0, 0, 252, 255, 1, 0, 0, 0, 253, 251, 1, 0,
		0, 0, 253, 254, 1, 0, 0, 0, 254, 33, 1, 0, 0, 0, 255, 253, 1, 0, 0, 0,
		256, 261, 3, 42, 21, 0, 257, 260, 3, 36, 18, 0, 258, 260, 3, 40, 20, 0,
		259, 257, 1, 0, 0, 0, 259, 258, 1, 0, 0, 0, 260, 263, 1, 0, 0, 0, 261,
		259, 1, 0, 0, 0, 261, 262, 1, 0, 0, 0, 262, 35, 1, 0, 0, 0, 263, 261, 1,
		0, 0, 0, 264, 273, 5, 1, 0, 0, 265, 270, 3, 38, 19, 0, 266, 267, 5, 7,
		0, 0, 267, 269, 3, 38, 19, 0, 268, 266, 1, 0, 0, 0, 269, 272, 1, 0, 0,
		0, 270, 268, 1, 0, 0, 0, 270, 271, 1, 0, 0, 0, 271, 274, 1, 0, 0, 0, 272,
		270, 1, 0, 0, 0, 273, 265, 1, 0, 0, 0, 273, 274, 1, 0, 0, 0, 274, 275,
		1, 0, 0, 0, 275, 276, 5, 2, 0, 0, 276, 37, 1, 0, 0, 0, 277, 280, 3, 66,
		33, 0, 278, 280, 3, 26, 13, 0, 279, 277, 1, 0, 0, 0, 279, 278, 1, 0, 0,
		0, 280, 39, 1, 0, 0, 0, 281, 282, 5, 46, 0, 0, 282, 41, 1, 0, 0, 0, 283,
		332, 5, 44, 0, 0, 284, 332, 5, 43, 0, 0, 285, 332, 5, 45, 0, 0, 286, 332,
		3, 74, 37, 0, 287, 332, 7, 5, 0, 0, 288, 332, 3, 76, 38, 0, 289, 290, 5,
		1, 0, 0, 290, 291, 3, 44, 22, 0, 291, 292, 5, 2, 0, 0, 292, 332, 1, 0,
		0, 0, 293, 332, 3, 46, 23, 0, 294, 295, 5, 27, 0, 0, 295, 296, 5, 1, 0,
		0, 296, 297, 3, 26, 13, 0, 297, 298, 5, 2, 0, 0, 298, 299, 3, 20, 10, 0,
		299, 300, 5, 28, 0, 0, 300, 301, 3, 20, 10, 0, 301, 332, 1, 0, 0, 0, 302,
		304, 5, 29, 0, 0, 303, 305, 5, 13, 0, 0, 304, 303, 1, 0, 0, 0, 304, 305,
		1, 0, 0, 0, 305, 306, 1, 0, 0, 0, 306, 307, 5, 1, 0, 0, 307, 308, 3, 48,
		24, 0, 308, 309, 5, 2, 0, 0, 309, 321, 5, 3, 0, 0, 310, 315, 3, 50, 25,
		0, 311, 312, 5, 7, 0, 0, 312, 314, 3, 50, 25, 0, 313, 311, 1, 0, 0, 0,
		314, 317, 1, 0, 0, 0, 315, 313, 1, 0, 0, 0, 315, 316, 1, 0, 0, 0, 316,
		319, 1, 0, 0, 0, 317, 315, 1, 0, 0, 0, 318, 320, 5, 7, 0, 0, 319, 318,
		1, 0, 0, 0, 319, 320, 1, 0, 0, 0, 320, 322, 1, 0, 0, 0, 321, 310, 1, 0,
		0, 0, 321, 322, 1, 0, 0, 0, 322, 323, 1, 0, 0, 0, 323, 324, 5, 4, 0, 0,
		324, 332, 1, 0, 0, 0, 325, 332, 3, 20, 10, 0, 326, 327, 7, 6, 0, 0, 327,
		328, 5, 1, 0, 0, 328, 329, 3, 44, 22, 0, 329, 330, 5, 2, 0, 0, 330, 332,
		1, 0, 0, 0, 331, 283, 1, 0, 0, 0, 331, 284, 1, 0, 0, 0, 331, 285, 1, 0,
		0, 0, 331, 286, 1, 0, 0, 0, 331, 287, 1, 0, 0, 0, 331, 288, 1, 0, 0, 0,
		331, 289, 1, 0, 0, 0, 331, 293, 1, 0, 0, 0, 331, 294, 1, 0, 0, 0, 331,
		302, 1, 0, 0, 0, 331, 325, 1, 0, 0, 0, 331, 326, 1, 0, 0, 0, 332, 43, 1,
		0, 0, 0, 333, 335, 3, 24, 12, 0, 334, 333, 1, 0, 0, 0, 335, 338, 1, 0,
		0, 0, 336, 334, 1, 0, 0, 0, 336, 337, 1, 0, 0, 0, 337, 350, 1, 0, 0, 0,
		338, 336, 1, 0, 0, 0, 339, 344, 3, 26, 13, 0, 340, 341, 5, 7, 0, 0, 341,
		343, 3, 26, 13, 0, 342, 340, 1, 0, 0, 0, 343, 346, 1, 0, 0, 0, 344, 342,
		1, 0, 0, 0, 344, 345, 1, 0, 0, 0, 345, 348, 1, 0, 0, 0, 346, 344, 1, 0,
		0, 0, 347, 349, 5, 7, 0, 0, 348, 347, 1, 0, 0, 0, 348, 349, 1, 0, 0, 0,
		349, 351, 1, 0, 0, 0, 350, 339, 1, 0, 0, 0, 350, 351, 1, 0, 0, 0, 351,
		45, 1, 0, 0, 0, 352, 354, 5, 25, 0, 0, 353, 355, 3, 12, 6, 0, 354, 353,
		1, 0, 0, 0, 354, 355, 1, 0, 0, 0, 355, 356, 1, 0, 0, 0, 356, 357, 3, 14,
		7, 0, 357, 358, 3, 20, 10, 0, 358, 47, 1, 0, 0, 0, 359, 360, 3, 26, 13,
		0, 360, 49, 1, 0, 0, 0, 361, 362, 3, 52, 26, 0, 362, 363, 5, 12, 0, 0,
		363, 364, 3, 26, 13, 0, 364, 51, 1, 0, 0, 0, 365, 366, 3, 54, 27, 0, 366,
		53, 1, 0, 0, 0, 367, 380, 3, 18, 9, 0, 368, 373, 5, 45, 0, 0, 369, 370,
		5, 1, 0, 0, 370, 371, 3, 56, 28, 0, 371, 372, 5, 2, 0, 0, 372, 374, 1,
		0, 0, 0, 373, 369, 1, 0, 0, 0, 373, 374, 1, 0, 0, 0, 374, 380, 1, 0, 0,
		0, 375, 376, 5, 1, 0, 0, 376, 377, 3, 56, 28, 0, 377, 378, 5, 2, 0, 0,
		378, 380, 1, 0, 0, 0, 379, 367, 1, 0, 0, 0, 379, 368, 1, 0, 0, 0, 379,
		375, 1, 0, 0, 0, 380, 55, 1, 0, 0, 0, 381, 386, 3, 54, 27, 0, 382, 383,
		5, 7, 0, 0, 383, 385, 3, 54, 27, 0, 384, 382, 1, 0, 0, 0, 385, 388, 1,
		0, 0, 0, 386, 384, 1, 0, 0, 0, 386, 387, 1, 0, 0, 0, 387, 390, 1, 0, 0,
		0, 388, 386, 1, 0, 0, 0, 389, 391, 5, 7, 0, 0, 390, 389, 1, 0, 0, 0, 390,
		391, 1, 0, 0, 0, 391, 393, 1, 0, 0, 0, 392, 381, 1, 0, 0, 0, 392, 393,
		1, 0, 0, 0, 393, 57, 1, 0, 0, 0, 394, 395, 5, 39, 0, 0, 395, 396, 5, 5,
		0, 0, 396, 397, 3, 62, 31, 0, 397, 398, 5, 7, 0, 0, 398, 399, 5, 45, 0,
		0, 399, 400, 5, 6, 0, 0, 400, 428, 1, 0, 0, 0, 401, 406, 5, 45, 0, 0, 402,
		403, 5, 5, 0, 0, 403, 404, 3, 60, 30, 0, 404, 405, 5, 6, 0, 0, 405, 407,
		1, 0, 0, 0, 406, 402, 1, 0, 0, 0, 406, 407, 1, 0, 0, 0, 407, 428, 1, 0,
		0, 0, 408, 409, 5, 1, 0, 0, 409, 410, 3, 60, 30, 0, 410, 411, 5, 2, 0,
		0, 411, 428, 1, 0, 0, 0, 412, 414, 5, 25, 0, 0, 413, 415, 3, 12, 6, 0,
		414, 413, 1, 0, 0, 0, 414, 415, 1, 0, 0, 0, 415, 416, 1, 0, 0, 0, 416,
		417, 5, 1, 0, 0, 417, 418, 3, 60, 30, 0, 418, 419, 5, 2, 0, 0, 419, 420,
		5, 11, 0, 0, 420, 421, 3, 58, 29, 0, 421, 428, 1, 0, 0, 0, 422, 423, 5,
		33, 0, 0, 423, 424, 5, 1, 0, 0, 424, 425, 3, 58, 29, 0, 425, 426, 5, 2,
		0, 0, 426, 428, 1, 0, 0, 0, 427, 394, 1, 0, 0, 0, 427, 401, 1, 0, 0, 0,
		427, 408, 1, 0, 0, 0, 427, 412, 1, 0, 0, 0, 427, 422, 1, 0, 0, 0, 428,
		59, 1, 0, 0, 0, 429, 434, 3, 58, 29, 0, 430, 431, 5, 7, 0, 0, 431, 433,
		3, 58, 29, 0, 432, 430, 1, 0, 0, 0, 433, 436, 1, 0, 0, 0, 434, 432, 1,
		0, 0, 0, 434, 435, 1, 0, 0, 0, 435, 438, 1, 0, 0, 0, 436, 434, 1, 0, 0,
		0, 437, 439, 5, 7, 0, 0, 438, 437, 1, 0, 0, 0, 438, 439, 1, 0, 0, 0, 439,
		441, 1, 0, 0, 0, 440, 429, 1, 0, 0, 0, 440, 441, 1, 0, 0, 0, 441, 61, 1,
		0, 0, 0, 442, 454, 5, 1, 0, 0, 443, 448, 3, 64, 32, 0, 444, 445, 5, 7,
		0, 0, 445, 447, 3, 64, 32, 0, 446, 444, 1, 0, 0, 0, 447, 450, 1, 0, 0,
		0, 448, 446, 1, 0, 0, 0, 448, 449, 1, 0, 0, 0, 449, 452, 1, 0, 0, 0, 450,
		448, 1, 0, 0, 0, 451, 453, 5, 7, 0, 0, 452, 451, 1, 0, 0, 0, 452, 453,
		1, 0, 0, 0, 453, 455, 1, 0, 0, 0, 454, 443, 1, 0, 0, 0, 454, 455, 1, 0,
		0, 0, 455, 456, 1, 0, 0, 0, 456, 457, 5, 2, 0, 0, 457, 63, 1, 0, 0, 0,
		458, 460, 5, 21, 0, 0, 459, 458, 1, 0, 0, 0, 459, 460, 1, 0, 0, 0, 460,
		461, 1, 0, 0, 0, 461, 465, 5, 42, 0, 0, 462, 465, 5, 13, 0, 0, 463, 465,
		5, 45, 0, 0, 464, 459, 1, 0, 0, 0, 464, 462, 1, 0, 0, 0, 464, 463, 1, 0,
		0, 0, 465, 65, 1, 0, 0, 0, 466, 467, 3, 68, 34, 0, 467, 468, 5, 10, 0,
		0, 468, 469, 3, 70, 35, 0, 469, 67, 1, 0, 0, 0, 470, 471, 7, 7, 0, 0, 471,
		69, 1, 0, 0, 0, 472, 486, 3, 74, 37, 0, 473, 486, 5, 47, 0, 0, 474, 486,
		7, 5, 0, 0, 475, 486, 5, 45, 0, 0, 476, 486, 3, 76, 38, 0, 477, 478, 5,
		5, 0, 0, 478, 479, 3, 72, 36, 0, 479, 480, 5, 6, 0, 0, 480, 486, 1, 0,
		0, 0, 481, 482, 5, 1, 0, 0, 482, 483, 3, 72, 36, 0, 483, 484, 5, 2, 0,
		0, 484, 486, 1, 0, 0, 0, 485, 472, 1, 0, 0, 0, 485, 473, 1, 0, 0, 0, 485,
		474, 1, 0, 0, 0, 485, 475, 1, 0, 0, 0, 485, 476, 1, 0, 0, 0, 485, 477,
		1, 0, 0, 0, 485, 481, 1, 0, 0, 0, 486, 71, 1, 0, 0, 0, 487, 492, 3, 70,
		35, 0, 488, 489, 5, 7, 0, 0, 489, 491, 3, 70, 35, 0, 490, 488, 1, 0, 0,
		0, 491, 494, 1, 0, 0, 0, 492, 490, 1, 0, 0, 0, 492, 493, 1, 0, 0, 0, 493,
		496, 1, 0, 0, 0, 494, 492, 1, 0, 0, 0, 495, 497, 5, 7, 0, 0, 496, 495,
		1, 0, 0, 0, 496, 497, 1, 0, 0, 0, 497, 499, 1, 0, 0, 0, 498, 487, 1, 0,
		0, 0, 498, 499, 1, 0, 0, 0, 499, 73, 1, 0, 0, 0, 500, 502, 5, 21, 0, 0,
		501, 500, 1, 0, 0, 0, 501, 502, 1, 0, 0, 0, 502, 503, 1, 0, 0, 0, 503,
		504, 5, 42, 0, 0, 504, 75, 1, 0, 0, 0, 505, 506, 5, 38, 0, 0, 506, 507,
		5, 5, 0, 0, 507, 508, 7, 8, 0, 0, 508, 509, 5, 6, 0, 0, 509, 510, 5, 5,
		0, 0, 510, 511, 5, 42, 0, 0, 511, 512, 5, 6, 0, 0, 512, 77, 1, 0, 0, 0,
		63, 79, 84, 88, 95, 100, 107, 112, 120, 124, 126, 135, 141, 144, 152, 163,
		166, 171, 175, 184, 189, 193, 202, 222, 229, 237, 245, 253, 259, 261, 270,
		273, 279, 304, 315, 319, 321, 331, 336, 344, 348, 350, 354, 373, 379, 386,
		390, 392, 406, 414, 427, 434, 438, 440, 448, 452, 454, 459, 464, 485, 492,
		496, 498, 501,
	}
	deserializer := antlr.NewATNDeserializer(nil)
	staticData.atn = deserializer.Deserialize(staticData.serializedATN)
	atn := staticData.atn
	staticData.decisionToDFA = make([]*antlr.DFA, len(atn.DecisionToState))
	decisionToDFA := staticData.decisionToDFA
	for index, state := range atn.DecisionToState {
		decisionToDFA[index] = antlr.NewDFA(state, index)
	}
}

// RelayParserInit initializes any static state used to implement RelayParser. By default the
// static state used to implement the parser is lazily initialized during the first call to
// NewRelayParser(). You can call this function if you wish to initialize the static state ahead
// of time.
func RelayParserInit() {
	staticData := &RelayParserStaticData
	staticData.once.Do(relayParserInit)
}

// NewRelayParser produces a new parser instance for the optional input antlr.TokenStream.
func NewRelayParser(input antlr.TokenStream) *RelayParser {
	RelayParserInit()
	this := new(RelayParser)
	this.BaseParser = antlr.NewBaseParser(input)
	staticData := &RelayParserStaticData
	this.Interpreter = antlr.NewParserATNSimulator(this, staticData.atn, staticData.decisionToDFA, staticData.PredictionContextCache)
	this.RuleNames = staticData.RuleNames
	this.LiteralNames = staticData.LiteralNames
	this.SymbolicNames = staticData.SymbolicNames
	this.GrammarFileName = "Relay.g4"

	return this
}

// RelayParser tokens.
const (
	RelayParserEOF           = antlr.TokenEOF
	RelayParserLEFT_PAREN    = 1
	RelayParserRIGHT_PAREN   = 2
	RelayParserLEFT_BRACE    = 3
	RelayParserRIGHT_BRACE   = 4
	RelayParserLEFT_BRACKET  = 5
	RelayParserRIGHT_BRACKET = 6
	RelayParserCOMMA         = 7
	RelayParserSEMICOLON     = 8
	RelayParserCOLON         = 9
	RelayParserASSIGN        = 10
	RelayParserARROW         = 11
	RelayParserCASE_ARROW    = 12
	RelayParserQUESTION      = 13
	RelayParserEQUAL         = 14
	RelayParserNOT_EQUAL     = 15
	RelayParserLESS          = 16
	RelayParserLESS_EQUAL    = 17
	RelayParserGREATER       = 18
	RelayParserGREATER_EQUAL = 19
	RelayParserPLUS          = 20
	RelayParserMINUS         = 21
	RelayParserTIMES         = 22
	RelayParserDIVIDE        = 23
	RelayParserLET           = 24
	RelayParserFN            = 25
	RelayParserDEF           = 26
	RelayParserIF            = 27
	RelayParserELSE          = 28
	RelayParserMATCH         = 29
	RelayParserTYPE          = 30
	RelayParserEXTERN        = 31
	RelayParserFREE_VAR      = 32
	RelayParserREF           = 33
	RelayParserREF_READ      = 34
	RelayParserREF_WRITE     = 35
	RelayParserTRUE          = 36
	RelayParserFALSE         = 37
	RelayParserMETA          = 38
	RelayParserTENSOR        = 39
	RelayParserVERSION       = 40
	RelayParserMETADATA      = 41
	RelayParserNUMBER        = 42
	RelayParserGLOBAL        = 43
	RelayParserLOCAL         = 44
	RelayParserNAME          = 45
	RelayParserFIELD         = 46
	RelayParserSTRING        = 47
	RelayParserSPACES        = 48
	RelayParserLINE_COMMENT  = 49
	RelayParserCOMMENT       = 50
	RelayParserOPEN_COMMENT  = 51
	RelayParserOPEN_STRING   = 52
	RelayParserUNKNOWN       = 53
)

// RelayParser rules.
const (
	RelayParserRULE_module         = 0
	RelayParserRULE_item           = 1
	RelayParserRULE_definition     = 2
	RelayParserRULE_typeDefinition = 3
	RelayParserRULE_constructor    = 4
	RelayParserRULE_externType     = 5
	RelayParserRULE_typeParameters = 6
	RelayParserRULE_signature      = 7
	RelayParserRULE_parameter      = 8
	RelayParserRULE_variable       = 9
	RelayParserRULE_block          = 10
	RelayParserRULE_body           = 11
	RelayParserRULE_statement      = 12
	RelayParserRULE_expression     = 13
	RelayParserRULE_relation       = 14
	RelayParserRULE_sum            = 15
	RelayParserRULE_product        = 16
	RelayParserRULE_postfix        = 17
	RelayParserRULE_arguments      = 18
	RelayParserRULE_argument       = 19
	RelayParserRULE_projection     = 20
	RelayParserRULE_atom           = 21
	RelayParserRULE_elements       = 22
	RelayParserRULE_function       = 23
	RelayParserRULE_scrutinee      = 24
	RelayParserRULE_clause         = 25
	RelayParserRULE_case           = 26
	RelayParserRULE_pattern        = 27
	RelayParserRULE_patterns       = 28
	RelayParserRULE_type           = 29
	RelayParserRULE_types          = 30
	RelayParserRULE_shape          = 31
	RelayParserRULE_dimension      = 32
	RelayParserRULE_attribute      = 33
	RelayParserRULE_name           = 34
	RelayParserRULE_value          = 35
	RelayParserRULE_values         = 36
	RelayParserRULE_number         = 37
	RelayParserRULE_meta           = 38
)

// IModuleContext is an interface to support dynamic dispatch.
type IModuleContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	METADATA() antlr.TerminalNode
	EOF() antlr.TerminalNode
	Body() IBodyContext
	VERSION() antlr.TerminalNode
	AllItem() []IItemContext
	Item(i int) IItemContext

	// IsModuleContext differentiates from other interfaces.
	IsModuleContext()
}

type ModuleContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyModuleContext() *ModuleContext {
	var p = new(ModuleContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_module
	return p
}

func InitEmptyModuleContext(p *ModuleContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_module
}

func (*ModuleContext) IsModuleContext() {}

func NewModuleContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ModuleContext {
	var p = new(ModuleContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_module

	return p
}

func (s *ModuleContext) GetParser() antlr.Parser { return s.parser }

func (s *ModuleContext) METADATA() antlr.TerminalNode {
	return s.GetToken(RelayParserMETADATA, 0)
}

func (s *ModuleContext) EOF() antlr.TerminalNode {
	return s.GetToken(RelayParserEOF, 0)
}

func (s *ModuleContext) Body() IBodyContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IBodyContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IBodyContext)
}

func (s *ModuleContext) VERSION() antlr.TerminalNode {
	return s.GetToken(RelayParserVERSION, 0)
}

func (s *ModuleContext) AllItem() []IItemContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IItemContext); ok {
			len++
		}
	}

	tst := make([]IItemContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IItemContext); ok {
			tst[i] = t.(IItemContext)
			i++
		}
	}

	return tst
}

func (s *ModuleContext) Item(i int) IItemContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IItemContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IItemContext)
}

func (s *ModuleContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ModuleContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ModuleContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterModule(s)
	}
}

func (s *ModuleContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitModule(s)
	}
}

func (p *RelayParser) Module() (localctx IModuleContext) {
	localctx = NewModuleContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 0, RelayParserRULE_module)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(79)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserVERSION {
		{
			p.SetState(78)
			p.Match(RelayParserVERSION)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	}
	p.SetState(88)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserEOF, RelayParserDEF, RelayParserTYPE, RelayParserEXTERN, RelayParserMETADATA:
		p.SetState(84)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		for (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&3288334336) != 0 {
			{
				p.SetState(81)
				p.Item()
			}

			p.SetState(86)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_la = p.GetTokenStream().LA(1)
		}

	case RelayParserLEFT_PAREN, RelayParserLEFT_BRACE, RelayParserMINUS, RelayParserLET, RelayParserFN, RelayParserIF, RelayParserMATCH, RelayParserFREE_VAR, RelayParserREF, RelayParserREF_READ, RelayParserREF_WRITE, RelayParserTRUE, RelayParserFALSE, RelayParserMETA, RelayParserNUMBER, RelayParserGLOBAL, RelayParserLOCAL, RelayParserNAME:
		{
			p.SetState(87)
			p.Body()
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}
	{
		p.SetState(90)
		_la = p.GetTokenStream().LA(1)

		if !(_la == RelayParserEOF || _la == RelayParserMETADATA) {
			p.GetErrorHandler().RecoverInline(p)
		} else {
			p.GetErrorHandler().ReportMatch(p)
			p.Consume()
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IItemContext is an interface to support dynamic dispatch.
type IItemContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Definition() IDefinitionContext
	TypeDefinition() ITypeDefinitionContext
	ExternType() IExternTypeContext

	// IsItemContext differentiates from other interfaces.
	IsItemContext()
}

type ItemContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyItemContext() *ItemContext {
	var p = new(ItemContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_item
	return p
}

func InitEmptyItemContext(p *ItemContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_item
}

func (*ItemContext) IsItemContext() {}

func NewItemContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ItemContext {
	var p = new(ItemContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_item

	return p
}

func (s *ItemContext) GetParser() antlr.Parser { return s.parser }

func (s *ItemContext) Definition() IDefinitionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IDefinitionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IDefinitionContext)
}

func (s *ItemContext) TypeDefinition() ITypeDefinitionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeDefinitionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeDefinitionContext)
}

func (s *ItemContext) ExternType() IExternTypeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExternTypeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExternTypeContext)
}

func (s *ItemContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ItemContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ItemContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterItem(s)
	}
}

func (s *ItemContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitItem(s)
	}
}

func (p *RelayParser) Item() (localctx IItemContext) {
	localctx = NewItemContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 2, RelayParserRULE_item)
	p.SetState(95)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserDEF:
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(92)
			p.Definition()
		}

	case RelayParserTYPE:
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(93)
			p.TypeDefinition()
		}

	case RelayParserEXTERN:
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(94)
			p.ExternType()
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IDefinitionContext is an interface to support dynamic dispatch.
type IDefinitionContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetGlobal returns the global token.
	GetGlobal() antlr.Token

	// SetGlobal sets the global token.
	SetGlobal(antlr.Token)

	// Getter signatures
	DEF() antlr.TerminalNode
	GLOBAL() antlr.TerminalNode
	Signature() ISignatureContext
	Block() IBlockContext
	ASSIGN() antlr.TerminalNode
	Meta() IMetaContext
	TypeParameters() ITypeParametersContext

	// IsDefinitionContext differentiates from other interfaces.
	IsDefinitionContext()
}

type DefinitionContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	global antlr.Token
}

func NewEmptyDefinitionContext() *DefinitionContext {
	var p = new(DefinitionContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_definition
	return p
}

func InitEmptyDefinitionContext(p *DefinitionContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_definition
}

func (*DefinitionContext) IsDefinitionContext() {}

func NewDefinitionContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *DefinitionContext {
	var p = new(DefinitionContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_definition

	return p
}

func (s *DefinitionContext) GetParser() antlr.Parser { return s.parser }

func (s *DefinitionContext) GetGlobal() antlr.Token { return s.global }

func (s *DefinitionContext) SetGlobal(v antlr.Token) { s.global = v }

func (s *DefinitionContext) DEF() antlr.TerminalNode {
	return s.GetToken(RelayParserDEF, 0)
}

func (s *DefinitionContext) GLOBAL() antlr.TerminalNode {
	return s.GetToken(RelayParserGLOBAL, 0)
}

func (s *DefinitionContext) Signature() ISignatureContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ISignatureContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ISignatureContext)
}

func (s *DefinitionContext) Block() IBlockContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IBlockContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IBlockContext)
}

func (s *DefinitionContext) ASSIGN() antlr.TerminalNode {
	return s.GetToken(RelayParserASSIGN, 0)
}

func (s *DefinitionContext) Meta() IMetaContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IMetaContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IMetaContext)
}

func (s *DefinitionContext) TypeParameters() ITypeParametersContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeParametersContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeParametersContext)
}

func (s *DefinitionContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *DefinitionContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *DefinitionContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterDefinition(s)
	}
}

func (s *DefinitionContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitDefinition(s)
	}
}

func (p *RelayParser) Definition() (localctx IDefinitionContext) {
	localctx = NewDefinitionContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 4, RelayParserRULE_definition)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(97)
		p.Match(RelayParserDEF)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(98)

		var _m = p.Match(RelayParserGLOBAL)

		localctx.(*DefinitionContext).global = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(107)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserLEFT_PAREN, RelayParserLEFT_BRACKET:
		p.SetState(100)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserLEFT_BRACKET {
			{
				p.SetState(99)
				p.TypeParameters()
			}

		}
		{
			p.SetState(102)
			p.Signature()
		}
		{
			p.SetState(103)
			p.Block()
		}

	case RelayParserASSIGN:
		{
			p.SetState(105)
			p.Match(RelayParserASSIGN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(106)
			p.Meta()
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ITypeDefinitionContext is an interface to support dynamic dispatch.
type ITypeDefinitionContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetDefined returns the defined token.
	GetDefined() antlr.Token

	// SetDefined sets the defined token.
	SetDefined(antlr.Token)

	// Getter signatures
	TYPE() antlr.TerminalNode
	LEFT_BRACE() antlr.TerminalNode
	RIGHT_BRACE() antlr.TerminalNode
	NAME() antlr.TerminalNode
	TypeParameters() ITypeParametersContext
	AllConstructor() []IConstructorContext
	Constructor(i int) IConstructorContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsTypeDefinitionContext differentiates from other interfaces.
	IsTypeDefinitionContext()
}

type TypeDefinitionContext struct {
	antlr.BaseParserRuleContext
	parser  antlr.Parser
	defined antlr.Token
}

func NewEmptyTypeDefinitionContext() *TypeDefinitionContext {
	var p = new(TypeDefinitionContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_typeDefinition
	return p
}

func InitEmptyTypeDefinitionContext(p *TypeDefinitionContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_typeDefinition
}

func (*TypeDefinitionContext) IsTypeDefinitionContext() {}

func NewTypeDefinitionContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *TypeDefinitionContext {
	var p = new(TypeDefinitionContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_typeDefinition

	return p
}

func (s *TypeDefinitionContext) GetParser() antlr.Parser { return s.parser }

func (s *TypeDefinitionContext) GetDefined() antlr.Token { return s.defined }

func (s *TypeDefinitionContext) SetDefined(v antlr.Token) { s.defined = v }

func (s *TypeDefinitionContext) TYPE() antlr.TerminalNode {
	return s.GetToken(RelayParserTYPE, 0)
}

func (s *TypeDefinitionContext) LEFT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACE, 0)
}

func (s *TypeDefinitionContext) RIGHT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACE, 0)
}

func (s *TypeDefinitionContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *TypeDefinitionContext) TypeParameters() ITypeParametersContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeParametersContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeParametersContext)
}

func (s *TypeDefinitionContext) AllConstructor() []IConstructorContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IConstructorContext); ok {
			len++
		}
	}

	tst := make([]IConstructorContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IConstructorContext); ok {
			tst[i] = t.(IConstructorContext)
			i++
		}
	}

	return tst
}

func (s *TypeDefinitionContext) Constructor(i int) IConstructorContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IConstructorContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IConstructorContext)
}

func (s *TypeDefinitionContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *TypeDefinitionContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *TypeDefinitionContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TypeDefinitionContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *TypeDefinitionContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTypeDefinition(s)
	}
}

func (s *TypeDefinitionContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTypeDefinition(s)
	}
}

func (p *RelayParser) TypeDefinition() (localctx ITypeDefinitionContext) {
	localctx = NewTypeDefinitionContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 6, RelayParserRULE_typeDefinition)
	var _la int

	var _alt int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(109)
		p.Match(RelayParserTYPE)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(110)

		var _m = p.Match(RelayParserNAME)

		localctx.(*TypeDefinitionContext).defined = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(112)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserLEFT_BRACKET {
		{
			p.SetState(111)
			p.TypeParameters()
		}

	}
	{
		p.SetState(114)
		p.Match(RelayParserLEFT_BRACE)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(126)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserNAME {
		{
			p.SetState(115)
			p.Constructor()
		}
		p.SetState(120)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 7, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
		for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
			if _alt == 1 {
				{
					p.SetState(116)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}
				{
					p.SetState(117)
					p.Constructor()
				}

			}
			p.SetState(122)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 7, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
		}
		p.SetState(124)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserCOMMA {
			{
				p.SetState(123)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	}
	{
		p.SetState(128)
		p.Match(RelayParserRIGHT_BRACE)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IConstructorContext is an interface to support dynamic dispatch.
type IConstructorContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetBracket returns the bracket token.
	GetBracket() antlr.Token

	// SetBracket sets the bracket token.
	SetBracket(antlr.Token)

	// Getter signatures
	NAME() antlr.TerminalNode
	Types() ITypesContext
	RIGHT_PAREN() antlr.TerminalNode
	LEFT_PAREN() antlr.TerminalNode

	// IsConstructorContext differentiates from other interfaces.
	IsConstructorContext()
}

type ConstructorContext struct {
	antlr.BaseParserRuleContext
	parser  antlr.Parser
	bracket antlr.Token
}

func NewEmptyConstructorContext() *ConstructorContext {
	var p = new(ConstructorContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_constructor
	return p
}

func InitEmptyConstructorContext(p *ConstructorContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_constructor
}

func (*ConstructorContext) IsConstructorContext() {}

func NewConstructorContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ConstructorContext {
	var p = new(ConstructorContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_constructor

	return p
}

func (s *ConstructorContext) GetParser() antlr.Parser { return s.parser }

func (s *ConstructorContext) GetBracket() antlr.Token { return s.bracket }

func (s *ConstructorContext) SetBracket(v antlr.Token) { s.bracket = v }

func (s *ConstructorContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *ConstructorContext) Types() ITypesContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypesContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypesContext)
}

func (s *ConstructorContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ConstructorContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ConstructorContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ConstructorContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ConstructorContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterConstructor(s)
	}
}

func (s *ConstructorContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitConstructor(s)
	}
}

func (p *RelayParser) Constructor() (localctx IConstructorContext) {
	localctx = NewConstructorContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 8, RelayParserRULE_constructor)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(130)
		p.Match(RelayParserNAME)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(135)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserLEFT_PAREN {
		{
			p.SetState(131)

			var _m = p.Match(RelayParserLEFT_PAREN)

			localctx.(*ConstructorContext).bracket = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(132)
			p.Types()
		}
		{
			p.SetState(133)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IExternTypeContext is an interface to support dynamic dispatch.
type IExternTypeContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetDefined returns the defined token.
	GetDefined() antlr.Token

	// SetDefined sets the defined token.
	SetDefined(antlr.Token)

	// Getter signatures
	EXTERN() antlr.TerminalNode
	TYPE() antlr.TerminalNode
	NAME() antlr.TerminalNode
	TypeParameters() ITypeParametersContext
	SEMICOLON() antlr.TerminalNode

	// IsExternTypeContext differentiates from other interfaces.
	IsExternTypeContext()
}

type ExternTypeContext struct {
	antlr.BaseParserRuleContext
	parser  antlr.Parser
	defined antlr.Token
}

func NewEmptyExternTypeContext() *ExternTypeContext {
	var p = new(ExternTypeContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_externType
	return p
}

func InitEmptyExternTypeContext(p *ExternTypeContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_externType
}

func (*ExternTypeContext) IsExternTypeContext() {}

func NewExternTypeContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ExternTypeContext {
	var p = new(ExternTypeContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_externType

	return p
}

func (s *ExternTypeContext) GetParser() antlr.Parser { return s.parser }

func (s *ExternTypeContext) GetDefined() antlr.Token { return s.defined }

func (s *ExternTypeContext) SetDefined(v antlr.Token) { s.defined = v }

func (s *ExternTypeContext) EXTERN() antlr.TerminalNode {
	return s.GetToken(RelayParserEXTERN, 0)
}

func (s *ExternTypeContext) TYPE() antlr.TerminalNode {
	return s.GetToken(RelayParserTYPE, 0)
}

func (s *ExternTypeContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *ExternTypeContext) TypeParameters() ITypeParametersContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeParametersContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeParametersContext)
}

func (s *ExternTypeContext) SEMICOLON() antlr.TerminalNode {
	return s.GetToken(RelayParserSEMICOLON, 0)
}

func (s *ExternTypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ExternTypeContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ExternTypeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterExternType(s)
	}
}

func (s *ExternTypeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitExternType(s)
	}
}

func (p *RelayParser) ExternType() (localctx IExternTypeContext) {
	localctx = NewExternTypeContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 10, RelayParserRULE_externType)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(137)
		p.Match(RelayParserEXTERN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(138)
		p.Match(RelayParserTYPE)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(139)

		var _m = p.Match(RelayParserNAME)

		localctx.(*ExternTypeContext).defined = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(141)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserLEFT_BRACKET {
		{
			p.SetState(140)
			p.TypeParameters()
		}

	}
	p.SetState(144)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserSEMICOLON {
		{
			p.SetState(143)
			p.Match(RelayParserSEMICOLON)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ITypeParametersContext is an interface to support dynamic dispatch.
type ITypeParametersContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Get_NAME returns the _NAME token.
	Get_NAME() antlr.Token

	// Set_NAME sets the _NAME token.
	Set_NAME(antlr.Token)

	// GetNames returns the names token list.
	GetNames() []antlr.Token

	// SetNames sets the names token list.
	SetNames([]antlr.Token)

	// Getter signatures
	LEFT_BRACKET() antlr.TerminalNode
	RIGHT_BRACKET() antlr.TerminalNode
	AllNAME() []antlr.TerminalNode
	NAME(i int) antlr.TerminalNode
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsTypeParametersContext differentiates from other interfaces.
	IsTypeParametersContext()
}

type TypeParametersContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	_NAME  antlr.Token
	names  []antlr.Token
}

func NewEmptyTypeParametersContext() *TypeParametersContext {
	var p = new(TypeParametersContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_typeParameters
	return p
}

func InitEmptyTypeParametersContext(p *TypeParametersContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_typeParameters
}

func (*TypeParametersContext) IsTypeParametersContext() {}

func NewTypeParametersContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *TypeParametersContext {
	var p = new(TypeParametersContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_typeParameters

	return p
}

func (s *TypeParametersContext) GetParser() antlr.Parser { return s.parser }

func (s *TypeParametersContext) Get_NAME() antlr.Token { return s._NAME }

func (s *TypeParametersContext) Set_NAME(v antlr.Token) { s._NAME = v }

func (s *TypeParametersContext) GetNames() []antlr.Token { return s.names }

func (s *TypeParametersContext) SetNames(v []antlr.Token) { s.names = v }

func (s *TypeParametersContext) LEFT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACKET, 0)
}

func (s *TypeParametersContext) RIGHT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACKET, 0)
}

func (s *TypeParametersContext) AllNAME() []antlr.TerminalNode {
	return s.GetTokens(RelayParserNAME)
}

func (s *TypeParametersContext) NAME(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, i)
}

func (s *TypeParametersContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *TypeParametersContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *TypeParametersContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TypeParametersContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *TypeParametersContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTypeParameters(s)
	}
}

func (s *TypeParametersContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTypeParameters(s)
	}
}

func (p *RelayParser) TypeParameters() (localctx ITypeParametersContext) {
	localctx = NewTypeParametersContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 12, RelayParserRULE_typeParameters)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(146)
		p.Match(RelayParserLEFT_BRACKET)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(147)

		var _m = p.Match(RelayParserNAME)

		localctx.(*TypeParametersContext)._NAME = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	localctx.(*TypeParametersContext).names = append(localctx.(*TypeParametersContext).names, localctx.(*TypeParametersContext)._NAME)
	p.SetState(152)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	for _la == RelayParserCOMMA {
		{
			p.SetState(148)
			p.Match(RelayParserCOMMA)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(149)

			var _m = p.Match(RelayParserNAME)

			localctx.(*TypeParametersContext)._NAME = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		localctx.(*TypeParametersContext).names = append(localctx.(*TypeParametersContext).names, localctx.(*TypeParametersContext)._NAME)

		p.SetState(154)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)
	}
	{
		p.SetState(155)
		p.Match(RelayParserRIGHT_BRACKET)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ISignatureContext is an interface to support dynamic dispatch.
type ISignatureContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	LEFT_PAREN() antlr.TerminalNode
	RIGHT_PAREN() antlr.TerminalNode
	AllParameter() []IParameterContext
	Parameter(i int) IParameterContext
	ARROW() antlr.TerminalNode
	Type_() ITypeContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsSignatureContext differentiates from other interfaces.
	IsSignatureContext()
}

type SignatureContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptySignatureContext() *SignatureContext {
	var p = new(SignatureContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_signature
	return p
}

func InitEmptySignatureContext(p *SignatureContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_signature
}

func (*SignatureContext) IsSignatureContext() {}

func NewSignatureContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *SignatureContext {
	var p = new(SignatureContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_signature

	return p
}

func (s *SignatureContext) GetParser() antlr.Parser { return s.parser }

func (s *SignatureContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *SignatureContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *SignatureContext) AllParameter() []IParameterContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IParameterContext); ok {
			len++
		}
	}

	tst := make([]IParameterContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IParameterContext); ok {
			tst[i] = t.(IParameterContext)
			i++
		}
	}

	return tst
}

func (s *SignatureContext) Parameter(i int) IParameterContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IParameterContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IParameterContext)
}

func (s *SignatureContext) ARROW() antlr.TerminalNode {
	return s.GetToken(RelayParserARROW, 0)
}

func (s *SignatureContext) Type_() ITypeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeContext)
}

func (s *SignatureContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *SignatureContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *SignatureContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *SignatureContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *SignatureContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterSignature(s)
	}
}

func (s *SignatureContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitSignature(s)
	}
}

func (p *RelayParser) Signature() (localctx ISignatureContext) {
	localctx = NewSignatureContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 14, RelayParserRULE_signature)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(157)
		p.Match(RelayParserLEFT_PAREN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(166)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&53064304164864) != 0 {
		{
			p.SetState(158)
			p.Parameter()
		}
		p.SetState(163)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		for _la == RelayParserCOMMA {
			{
				p.SetState(159)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}
			{
				p.SetState(160)
				p.Parameter()
			}

			p.SetState(165)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_la = p.GetTokenStream().LA(1)
		}

	}
	{
		p.SetState(168)
		p.Match(RelayParserRIGHT_PAREN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(171)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserARROW {
		{
			p.SetState(169)
			p.Match(RelayParserARROW)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(170)
			p.Type_()
		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IParameterContext is an interface to support dynamic dispatch.
type IParameterContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Variable() IVariableContext
	Attribute() IAttributeContext

	// IsParameterContext differentiates from other interfaces.
	IsParameterContext()
}

type ParameterContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyParameterContext() *ParameterContext {
	var p = new(ParameterContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_parameter
	return p
}

func InitEmptyParameterContext(p *ParameterContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_parameter
}

func (*ParameterContext) IsParameterContext() {}

func NewParameterContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ParameterContext {
	var p = new(ParameterContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_parameter

	return p
}

func (s *ParameterContext) GetParser() antlr.Parser { return s.parser }

func (s *ParameterContext) Variable() IVariableContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IVariableContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IVariableContext)
}

func (s *ParameterContext) Attribute() IAttributeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IAttributeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IAttributeContext)
}

func (s *ParameterContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ParameterContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ParameterContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterParameter(s)
	}
}

func (s *ParameterContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitParameter(s)
	}
}

func (p *RelayParser) Parameter() (localctx IParameterContext) {
	localctx = NewParameterContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 16, RelayParserRULE_parameter)
	p.SetState(175)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserLOCAL:
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(173)
			p.Variable()
		}

	case RelayParserLET, RelayParserFN, RelayParserDEF, RelayParserIF, RelayParserELSE, RelayParserMATCH, RelayParserTYPE, RelayParserEXTERN, RelayParserREF, RelayParserMETA, RelayParserNAME:
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(174)
			p.Attribute()
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IVariableContext is an interface to support dynamic dispatch.
type IVariableContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetLocal returns the local token.
	GetLocal() antlr.Token

	// SetLocal sets the local token.
	SetLocal(antlr.Token)

	// Getter signatures
	LOCAL() antlr.TerminalNode
	LEFT_BRACE() antlr.TerminalNode
	AllAttribute() []IAttributeContext
	Attribute(i int) IAttributeContext
	RIGHT_BRACE() antlr.TerminalNode
	COLON() antlr.TerminalNode
	Type_() ITypeContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsVariableContext differentiates from other interfaces.
	IsVariableContext()
}

type VariableContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	local  antlr.Token
}

func NewEmptyVariableContext() *VariableContext {
	var p = new(VariableContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_variable
	return p
}

func InitEmptyVariableContext(p *VariableContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_variable
}

func (*VariableContext) IsVariableContext() {}

func NewVariableContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *VariableContext {
	var p = new(VariableContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_variable

	return p
}

func (s *VariableContext) GetParser() antlr.Parser { return s.parser }

func (s *VariableContext) GetLocal() antlr.Token { return s.local }

func (s *VariableContext) SetLocal(v antlr.Token) { s.local = v }

func (s *VariableContext) LOCAL() antlr.TerminalNode {
	return s.GetToken(RelayParserLOCAL, 0)
}

func (s *VariableContext) LEFT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACE, 0)
}

func (s *VariableContext) AllAttribute() []IAttributeContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IAttributeContext); ok {
			len++
		}
	}

	tst := make([]IAttributeContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IAttributeContext); ok {
			tst[i] = t.(IAttributeContext)
			i++
		}
	}

	return tst
}

func (s *VariableContext) Attribute(i int) IAttributeContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IAttributeContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IAttributeContext)
}

func (s *VariableContext) RIGHT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACE, 0)
}

func (s *VariableContext) COLON() antlr.TerminalNode {
	return s.GetToken(RelayParserCOLON, 0)
}

func (s *VariableContext) Type_() ITypeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeContext)
}

func (s *VariableContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *VariableContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *VariableContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *VariableContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *VariableContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterVariable(s)
	}
}

func (s *VariableContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitVariable(s)
	}
}

func (p *RelayParser) Variable() (localctx IVariableContext) {
	localctx = NewVariableContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 18, RelayParserRULE_variable)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(177)

		var _m = p.Match(RelayParserLOCAL)

		localctx.(*VariableContext).local = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(189)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserLEFT_BRACE {
		{
			p.SetState(178)
			p.Match(RelayParserLEFT_BRACE)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(179)
			p.Attribute()
		}
		p.SetState(184)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		for _la == RelayParserCOMMA {
			{
				p.SetState(180)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}
			{
				p.SetState(181)
				p.Attribute()
			}

			p.SetState(186)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_la = p.GetTokenStream().LA(1)
		}
		{
			p.SetState(187)
			p.Match(RelayParserRIGHT_BRACE)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	}
	p.SetState(193)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserCOLON {
		{
			p.SetState(191)
			p.Match(RelayParserCOLON)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(192)
			p.Type_()
		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IBlockContext is an interface to support dynamic dispatch.
type IBlockContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	LEFT_BRACE() antlr.TerminalNode
	Body() IBodyContext
	RIGHT_BRACE() antlr.TerminalNode

	// IsBlockContext differentiates from other interfaces.
	IsBlockContext()
}

type BlockContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyBlockContext() *BlockContext {
	var p = new(BlockContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_block
	return p
}

func InitEmptyBlockContext(p *BlockContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_block
}

func (*BlockContext) IsBlockContext() {}

func NewBlockContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *BlockContext {
	var p = new(BlockContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_block

	return p
}

func (s *BlockContext) GetParser() antlr.Parser { return s.parser }

func (s *BlockContext) LEFT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACE, 0)
}

func (s *BlockContext) Body() IBodyContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IBodyContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IBodyContext)
}

func (s *BlockContext) RIGHT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACE, 0)
}

func (s *BlockContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *BlockContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *BlockContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterBlock(s)
	}
}

func (s *BlockContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitBlock(s)
	}
}

func (p *RelayParser) Block() (localctx IBlockContext) {
	localctx = NewBlockContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 20, RelayParserRULE_block)
	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(195)
		p.Match(RelayParserLEFT_BRACE)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(196)
		p.Body()
	}
	{
		p.SetState(197)
		p.Match(RelayParserRIGHT_BRACE)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IBodyContext is an interface to support dynamic dispatch.
type IBodyContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Expression() IExpressionContext
	AllStatement() []IStatementContext
	Statement(i int) IStatementContext

	// IsBodyContext differentiates from other interfaces.
	IsBodyContext()
}

type BodyContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyBodyContext() *BodyContext {
	var p = new(BodyContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_body
	return p
}

func InitEmptyBodyContext(p *BodyContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_body
}

func (*BodyContext) IsBodyContext() {}

func NewBodyContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *BodyContext {
	var p = new(BodyContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_body

	return p
}

func (s *BodyContext) GetParser() antlr.Parser { return s.parser }

func (s *BodyContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *BodyContext) AllStatement() []IStatementContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IStatementContext); ok {
			len++
		}
	}

	tst := make([]IStatementContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IStatementContext); ok {
			tst[i] = t.(IStatementContext)
			i++
		}
	}

	return tst
}

func (s *BodyContext) Statement(i int) IStatementContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IStatementContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IStatementContext)
}

func (s *BodyContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *BodyContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *BodyContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterBody(s)
	}
}

func (s *BodyContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitBody(s)
	}
}

func (p *RelayParser) Body() (localctx IBodyContext) {
	localctx = NewBodyContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 22, RelayParserRULE_body)
	var _alt int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(202)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 21, p.GetParserRuleContext())
	if p.HasError() {
		goto errorExit
	}
	for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
		if _alt == 1 {
			{
				p.SetState(199)
				p.Statement()
			}

		}
		p.SetState(204)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 21, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
	}
	{
		p.SetState(205)
		p.Expression()
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IStatementContext is an interface to support dynamic dispatch.
type IStatementContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser
	// IsStatementContext differentiates from other interfaces.
	IsStatementContext()
}

type StatementContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyStatementContext() *StatementContext {
	var p = new(StatementContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_statement
	return p
}

func InitEmptyStatementContext(p *StatementContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_statement
}

func (*StatementContext) IsStatementContext() {}

func NewStatementContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *StatementContext {
	var p = new(StatementContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_statement

	return p
}

func (s *StatementContext) GetParser() antlr.Parser { return s.parser }

func (s *StatementContext) CopyAll(ctx *StatementContext) {
	s.CopyFrom(&ctx.BaseParserRuleContext)
}

func (s *StatementContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *StatementContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

type FreeVariableContext struct {
	StatementContext
}

func NewFreeVariableContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *FreeVariableContext {
	var p = new(FreeVariableContext)

	InitEmptyStatementContext(&p.StatementContext)
	p.parser = parser
	p.CopyAll(ctx.(*StatementContext))

	return p
}

func (s *FreeVariableContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *FreeVariableContext) FREE_VAR() antlr.TerminalNode {
	return s.GetToken(RelayParserFREE_VAR, 0)
}

func (s *FreeVariableContext) Variable() IVariableContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IVariableContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IVariableContext)
}

func (s *FreeVariableContext) SEMICOLON() antlr.TerminalNode {
	return s.GetToken(RelayParserSEMICOLON, 0)
}

func (s *FreeVariableContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterFreeVariable(s)
	}
}

func (s *FreeVariableContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitFreeVariable(s)
	}
}

type BindingContext struct {
	StatementContext
	local antlr.Token
}

func NewBindingContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *BindingContext {
	var p = new(BindingContext)

	InitEmptyStatementContext(&p.StatementContext)
	p.parser = parser
	p.CopyAll(ctx.(*StatementContext))

	return p
}

func (s *BindingContext) GetLocal() antlr.Token { return s.local }

func (s *BindingContext) SetLocal(v antlr.Token) { s.local = v }

func (s *BindingContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *BindingContext) ASSIGN() antlr.TerminalNode {
	return s.GetToken(RelayParserASSIGN, 0)
}

func (s *BindingContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *BindingContext) SEMICOLON() antlr.TerminalNode {
	return s.GetToken(RelayParserSEMICOLON, 0)
}

func (s *BindingContext) LOCAL() antlr.TerminalNode {
	return s.GetToken(RelayParserLOCAL, 0)
}

func (s *BindingContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterBinding(s)
	}
}

func (s *BindingContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitBinding(s)
	}
}

type LetContext struct {
	StatementContext
}

func NewLetContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *LetContext {
	var p = new(LetContext)

	InitEmptyStatementContext(&p.StatementContext)
	p.parser = parser
	p.CopyAll(ctx.(*StatementContext))

	return p
}

func (s *LetContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *LetContext) LET() antlr.TerminalNode {
	return s.GetToken(RelayParserLET, 0)
}

func (s *LetContext) Variable() IVariableContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IVariableContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IVariableContext)
}

func (s *LetContext) ASSIGN() antlr.TerminalNode {
	return s.GetToken(RelayParserASSIGN, 0)
}

func (s *LetContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *LetContext) SEMICOLON() antlr.TerminalNode {
	return s.GetToken(RelayParserSEMICOLON, 0)
}

func (s *LetContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterLet(s)
	}
}

func (s *LetContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitLet(s)
	}
}

func (p *RelayParser) Statement() (localctx IStatementContext) {
	localctx = NewStatementContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 24, RelayParserRULE_statement)
	p.SetState(222)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserLET:
		localctx = NewLetContext(p, localctx)
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(207)
			p.Match(RelayParserLET)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(208)
			p.Variable()
		}
		{
			p.SetState(209)
			p.Match(RelayParserASSIGN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(210)
			p.Expression()
		}
		{
			p.SetState(211)
			p.Match(RelayParserSEMICOLON)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserLOCAL:
		localctx = NewBindingContext(p, localctx)
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(213)

			var _m = p.Match(RelayParserLOCAL)

			localctx.(*BindingContext).local = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(214)
			p.Match(RelayParserASSIGN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(215)
			p.Expression()
		}
		{
			p.SetState(216)
			p.Match(RelayParserSEMICOLON)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserFREE_VAR:
		localctx = NewFreeVariableContext(p, localctx)
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(218)
			p.Match(RelayParserFREE_VAR)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(219)
			p.Variable()
		}
		{
			p.SetState(220)
			p.Match(RelayParserSEMICOLON)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IExpressionContext is an interface to support dynamic dispatch.
type IExpressionContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetS14 returns the s14 token.
	GetS14() antlr.Token

	// GetS15 returns the s15 token.
	GetS15() antlr.Token

	// Get_tset340 returns the _tset340 token.
	Get_tset340() antlr.Token

	// SetS14 sets the s14 token.
	SetS14(antlr.Token)

	// SetS15 sets the s15 token.
	SetS15(antlr.Token)

	// Set_tset340 sets the _tset340 token.
	Set_tset340(antlr.Token)

	// GetOperators returns the operators token list.
	GetOperators() []antlr.Token

	// SetOperators sets the operators token list.
	SetOperators([]antlr.Token)

	// Getter signatures
	AllRelation() []IRelationContext
	Relation(i int) IRelationContext
	AllEQUAL() []antlr.TerminalNode
	EQUAL(i int) antlr.TerminalNode
	AllNOT_EQUAL() []antlr.TerminalNode
	NOT_EQUAL(i int) antlr.TerminalNode

	// IsExpressionContext differentiates from other interfaces.
	IsExpressionContext()
}

type ExpressionContext struct {
	antlr.BaseParserRuleContext
	parser    antlr.Parser
	s14       antlr.Token
	operators []antlr.Token
	s15       antlr.Token
	_tset340  antlr.Token
}

func NewEmptyExpressionContext() *ExpressionContext {
	var p = new(ExpressionContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_expression
	return p
}

func InitEmptyExpressionContext(p *ExpressionContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_expression
}

func (*ExpressionContext) IsExpressionContext() {}

func NewExpressionContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ExpressionContext {
	var p = new(ExpressionContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_expression

	return p
}

func (s *ExpressionContext) GetParser() antlr.Parser { return s.parser }

func (s *ExpressionContext) GetS14() antlr.Token { return s.s14 }

func (s *ExpressionContext) GetS15() antlr.Token { return s.s15 }

func (s *ExpressionContext) Get_tset340() antlr.Token { return s._tset340 }

func (s *ExpressionContext) SetS14(v antlr.Token) { s.s14 = v }

func (s *ExpressionContext) SetS15(v antlr.Token) { s.s15 = v }

func (s *ExpressionContext) Set_tset340(v antlr.Token) { s._tset340 = v }

func (s *ExpressionContext) GetOperators() []antlr.Token { return s.operators }

func (s *ExpressionContext) SetOperators(v []antlr.Token) { s.operators = v }

func (s *ExpressionContext) AllRelation() []IRelationContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IRelationContext); ok {
			len++
		}
	}

	tst := make([]IRelationContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IRelationContext); ok {
			tst[i] = t.(IRelationContext)
			i++
		}
	}

	return tst
}

func (s *ExpressionContext) Relation(i int) IRelationContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IRelationContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IRelationContext)
}

func (s *ExpressionContext) AllEQUAL() []antlr.TerminalNode {
	return s.GetTokens(RelayParserEQUAL)
}

func (s *ExpressionContext) EQUAL(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserEQUAL, i)
}

func (s *ExpressionContext) AllNOT_EQUAL() []antlr.TerminalNode {
	return s.GetTokens(RelayParserNOT_EQUAL)
}

func (s *ExpressionContext) NOT_EQUAL(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserNOT_EQUAL, i)
}

func (s *ExpressionContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ExpressionContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ExpressionContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterExpression(s)
	}
}

func (s *ExpressionContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitExpression(s)
	}
}

func (p *RelayParser) Expression() (localctx IExpressionContext) {
	localctx = NewExpressionContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 26, RelayParserRULE_expression)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(224)
		p.Relation()
	}
	p.SetState(229)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	for _la == RelayParserEQUAL || _la == RelayParserNOT_EQUAL {
		{
			p.SetState(225)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*ExpressionContext)._tset340 = _lt

			_la = p.GetTokenStream().LA(1)

			if !(_la == RelayParserEQUAL || _la == RelayParserNOT_EQUAL) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*ExpressionContext)._tset340 = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}
		localctx.(*ExpressionContext).operators = append(localctx.(*ExpressionContext).operators, localctx.(*ExpressionContext)._tset340)
		{
			p.SetState(226)
			p.Relation()
		}

		p.SetState(231)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IRelationContext is an interface to support dynamic dispatch.
type IRelationContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetS16 returns the s16 token.
	GetS16() antlr.Token

	// GetS17 returns the s17 token.
	GetS17() antlr.Token

	// GetS18 returns the s18 token.
	GetS18() antlr.Token

	// GetS19 returns the s19 token.
	GetS19() antlr.Token

	// Get_tset363 returns the _tset363 token.
	Get_tset363() antlr.Token

	// SetS16 sets the s16 token.
	SetS16(antlr.Token)

	// SetS17 sets the s17 token.
	SetS17(antlr.Token)

	// SetS18 sets the s18 token.
	SetS18(antlr.Token)

	// SetS19 sets the s19 token.
	SetS19(antlr.Token)

	// Set_tset363 sets the _tset363 token.
	Set_tset363(antlr.Token)

	// GetOperators returns the operators token list.
	GetOperators() []antlr.Token

	// SetOperators sets the operators token list.
	SetOperators([]antlr.Token)

	// Getter signatures
	AllSum() []ISumContext
	Sum(i int) ISumContext
	AllLESS() []antlr.TerminalNode
	LESS(i int) antlr.TerminalNode
	AllLESS_EQUAL() []antlr.TerminalNode
	LESS_EQUAL(i int) antlr.TerminalNode
	AllGREATER() []antlr.TerminalNode
	GREATER(i int) antlr.TerminalNode
	AllGREATER_EQUAL() []antlr.TerminalNode
	GREATER_EQUAL(i int) antlr.TerminalNode

	// IsRelationContext differentiates from other interfaces.
	IsRelationContext()
}

type RelationContext struct {
	antlr.BaseParserRuleContext
	parser    antlr.Parser
	s16       antlr.Token
	operators []antlr.Token
	s17       antlr.Token
	s18       antlr.Token
	s19       antlr.Token
	_tset363  antlr.Token
}

func NewEmptyRelationContext() *RelationContext {
	var p = new(RelationContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_relation
	return p
}

func InitEmptyRelationContext(p *RelationContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_relation
}

func (*RelationContext) IsRelationContext() {}

func NewRelationContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *RelationContext {
	var p = new(RelationContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_relation

	return p
}

func (s *RelationContext) GetParser() antlr.Parser { return s.parser }

func (s *RelationContext) GetS16() antlr.Token { return s.s16 }

func (s *RelationContext) GetS17() antlr.Token { return s.s17 }

func (s *RelationContext) GetS18() antlr.Token { return s.s18 }

func (s *RelationContext) GetS19() antlr.Token { return s.s19 }

func (s *RelationContext) Get_tset363() antlr.Token { return s._tset363 }

func (s *RelationContext) SetS16(v antlr.Token) { s.s16 = v }

func (s *RelationContext) SetS17(v antlr.Token) { s.s17 = v }

func (s *RelationContext) SetS18(v antlr.Token) { s.s18 = v }

func (s *RelationContext) SetS19(v antlr.Token) { s.s19 = v }

func (s *RelationContext) Set_tset363(v antlr.Token) { s._tset363 = v }

func (s *RelationContext) GetOperators() []antlr.Token { return s.operators }

func (s *RelationContext) SetOperators(v []antlr.Token) { s.operators = v }

func (s *RelationContext) AllSum() []ISumContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(ISumContext); ok {
			len++
		}
	}

	tst := make([]ISumContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(ISumContext); ok {
			tst[i] = t.(ISumContext)
			i++
		}
	}

	return tst
}

func (s *RelationContext) Sum(i int) ISumContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ISumContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(ISumContext)
}

func (s *RelationContext) AllLESS() []antlr.TerminalNode {
	return s.GetTokens(RelayParserLESS)
}

func (s *RelationContext) LESS(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserLESS, i)
}

func (s *RelationContext) AllLESS_EQUAL() []antlr.TerminalNode {
	return s.GetTokens(RelayParserLESS_EQUAL)
}

func (s *RelationContext) LESS_EQUAL(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserLESS_EQUAL, i)
}

func (s *RelationContext) AllGREATER() []antlr.TerminalNode {
	return s.GetTokens(RelayParserGREATER)
}

func (s *RelationContext) GREATER(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserGREATER, i)
}

func (s *RelationContext) AllGREATER_EQUAL() []antlr.TerminalNode {
	return s.GetTokens(RelayParserGREATER_EQUAL)
}

func (s *RelationContext) GREATER_EQUAL(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserGREATER_EQUAL, i)
}

func (s *RelationContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *RelationContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *RelationContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterRelation(s)
	}
}

func (s *RelationContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitRelation(s)
	}
}

func (p *RelayParser) Relation() (localctx IRelationContext) {
	localctx = NewRelationContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 28, RelayParserRULE_relation)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(232)
		p.Sum()
	}
	p.SetState(237)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	for (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&983040) != 0 {
		{
			p.SetState(233)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*RelationContext)._tset363 = _lt

			_la = p.GetTokenStream().LA(1)

			if !((int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&983040) != 0) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*RelationContext)._tset363 = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}
		localctx.(*RelationContext).operators = append(localctx.(*RelationContext).operators, localctx.(*RelationContext)._tset363)
		{
			p.SetState(234)
			p.Sum()
		}

		p.SetState(239)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ISumContext is an interface to support dynamic dispatch.
type ISumContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetS20 returns the s20 token.
	GetS20() antlr.Token

	// GetS21 returns the s21 token.
	GetS21() antlr.Token

	// Get_tset394 returns the _tset394 token.
	Get_tset394() antlr.Token

	// SetS20 sets the s20 token.
	SetS20(antlr.Token)

	// SetS21 sets the s21 token.
	SetS21(antlr.Token)

	// Set_tset394 sets the _tset394 token.
	Set_tset394(antlr.Token)

	// GetOperators returns the operators token list.
	GetOperators() []antlr.Token

	// SetOperators sets the operators token list.
	SetOperators([]antlr.Token)

	// Getter signatures
	AllProduct() []IProductContext
	Product(i int) IProductContext
	AllPLUS() []antlr.TerminalNode
	PLUS(i int) antlr.TerminalNode
	AllMINUS() []antlr.TerminalNode
	MINUS(i int) antlr.TerminalNode

	// IsSumContext differentiates from other interfaces.
	IsSumContext()
}

type SumContext struct {
	antlr.BaseParserRuleContext
	parser    antlr.Parser
	s20       antlr.Token
	operators []antlr.Token
	s21       antlr.Token
	_tset394  antlr.Token
}

func NewEmptySumContext() *SumContext {
	var p = new(SumContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_sum
	return p
}

func InitEmptySumContext(p *SumContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_sum
}

func (*SumContext) IsSumContext() {}

func NewSumContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *SumContext {
	var p = new(SumContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_sum

	return p
}

func (s *SumContext) GetParser() antlr.Parser { return s.parser }

func (s *SumContext) GetS20() antlr.Token { return s.s20 }

func (s *SumContext) GetS21() antlr.Token { return s.s21 }

func (s *SumContext) Get_tset394() antlr.Token { return s._tset394 }

func (s *SumContext) SetS20(v antlr.Token) { s.s20 = v }

func (s *SumContext) SetS21(v antlr.Token) { s.s21 = v }

func (s *SumContext) Set_tset394(v antlr.Token) { s._tset394 = v }

func (s *SumContext) GetOperators() []antlr.Token { return s.operators }

func (s *SumContext) SetOperators(v []antlr.Token) { s.operators = v }

func (s *SumContext) AllProduct() []IProductContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IProductContext); ok {
			len++
		}
	}

	tst := make([]IProductContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IProductContext); ok {
			tst[i] = t.(IProductContext)
			i++
		}
	}

	return tst
}

func (s *SumContext) Product(i int) IProductContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IProductContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IProductContext)
}

func (s *SumContext) AllPLUS() []antlr.TerminalNode {
	return s.GetTokens(RelayParserPLUS)
}

func (s *SumContext) PLUS(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserPLUS, i)
}

func (s *SumContext) AllMINUS() []antlr.TerminalNode {
	return s.GetTokens(RelayParserMINUS)
}

func (s *SumContext) MINUS(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserMINUS, i)
}

func (s *SumContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *SumContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *SumContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterSum(s)
	}
}

func (s *SumContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitSum(s)
	}
}

func (p *RelayParser) Sum() (localctx ISumContext) {
	localctx = NewSumContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 30, RelayParserRULE_sum)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(240)
		p.Product()
	}
	p.SetState(245)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	for _la == RelayParserPLUS || _la == RelayParserMINUS {
		{
			p.SetState(241)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*SumContext)._tset394 = _lt

			_la = p.GetTokenStream().LA(1)

			if !(_la == RelayParserPLUS || _la == RelayParserMINUS) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*SumContext)._tset394 = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}
		localctx.(*SumContext).operators = append(localctx.(*SumContext).operators, localctx.(*SumContext)._tset394)
		{
			p.SetState(242)
			p.Product()
		}

		p.SetState(247)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IProductContext is an interface to support dynamic dispatch.
type IProductContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetS22 returns the s22 token.
	GetS22() antlr.Token

	// GetS23 returns the s23 token.
	GetS23() antlr.Token

	// Get_tset417 returns the _tset417 token.
	Get_tset417() antlr.Token

	// SetS22 sets the s22 token.
	SetS22(antlr.Token)

	// SetS23 sets the s23 token.
	SetS23(antlr.Token)

	// Set_tset417 sets the _tset417 token.
	Set_tset417(antlr.Token)

	// GetOperators returns the operators token list.
	GetOperators() []antlr.Token

	// SetOperators sets the operators token list.
	SetOperators([]antlr.Token)

	// Getter signatures
	AllPostfix() []IPostfixContext
	Postfix(i int) IPostfixContext
	AllTIMES() []antlr.TerminalNode
	TIMES(i int) antlr.TerminalNode
	AllDIVIDE() []antlr.TerminalNode
	DIVIDE(i int) antlr.TerminalNode

	// IsProductContext differentiates from other interfaces.
	IsProductContext()
}

type ProductContext struct {
	antlr.BaseParserRuleContext
	parser    antlr.Parser
	s22       antlr.Token
	operators []antlr.Token
	s23       antlr.Token
	_tset417  antlr.Token
}

func NewEmptyProductContext() *ProductContext {
	var p = new(ProductContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_product
	return p
}

func InitEmptyProductContext(p *ProductContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_product
}

func (*ProductContext) IsProductContext() {}

func NewProductContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ProductContext {
	var p = new(ProductContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_product

	return p
}

func (s *ProductContext) GetParser() antlr.Parser { return s.parser }

func (s *ProductContext) GetS22() antlr.Token { return s.s22 }

func (s *ProductContext) GetS23() antlr.Token { return s.s23 }

func (s *ProductContext) Get_tset417() antlr.Token { return s._tset417 }

func (s *ProductContext) SetS22(v antlr.Token) { s.s22 = v }

func (s *ProductContext) SetS23(v antlr.Token) { s.s23 = v }

func (s *ProductContext) Set_tset417(v antlr.Token) { s._tset417 = v }

func (s *ProductContext) GetOperators() []antlr.Token { return s.operators }

func (s *ProductContext) SetOperators(v []antlr.Token) { s.operators = v }

func (s *ProductContext) AllPostfix() []IPostfixContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IPostfixContext); ok {
			len++
		}
	}

	tst := make([]IPostfixContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IPostfixContext); ok {
			tst[i] = t.(IPostfixContext)
			i++
		}
	}

	return tst
}

func (s *ProductContext) Postfix(i int) IPostfixContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IPostfixContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IPostfixContext)
}

func (s *ProductContext) AllTIMES() []antlr.TerminalNode {
	return s.GetTokens(RelayParserTIMES)
}

func (s *ProductContext) TIMES(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserTIMES, i)
}

func (s *ProductContext) AllDIVIDE() []antlr.TerminalNode {
	return s.GetTokens(RelayParserDIVIDE)
}

func (s *ProductContext) DIVIDE(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserDIVIDE, i)
}

func (s *ProductContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ProductContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ProductContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterProduct(s)
	}
}

func (s *ProductContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitProduct(s)
	}
}

func (p *RelayParser) Product() (localctx IProductContext) {
	localctx = NewProductContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 32, RelayParserRULE_product)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(248)
		p.Postfix()
	}
	p.SetState(253)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	for _la == RelayParserTIMES || _la == RelayParserDIVIDE {
		{
			p.SetState(249)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*ProductContext)._tset417 = _lt

			_la = p.GetTokenStream().LA(1)

			if !(_la == RelayParserTIMES || _la == RelayParserDIVIDE) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*ProductContext)._tset417 = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}
		localctx.(*ProductContext).operators = append(localctx.(*ProductContext).operators, localctx.(*ProductContext)._tset417)
		{
			p.SetState(250)
			p.Postfix()
		}

		p.SetState(255)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IPostfixContext is an interface to support dynamic dispatch.
type IPostfixContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Atom() IAtomContext
	AllArguments() []IArgumentsContext
	Arguments(i int) IArgumentsContext
	AllProjection() []IProjectionContext
	Projection(i int) IProjectionContext

	// IsPostfixContext differentiates from other interfaces.
	IsPostfixContext()
}

type PostfixContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyPostfixContext() *PostfixContext {
	var p = new(PostfixContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_postfix
	return p
}

func InitEmptyPostfixContext(p *PostfixContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_postfix
}

func (*PostfixContext) IsPostfixContext() {}

func NewPostfixContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *PostfixContext {
	var p = new(PostfixContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_postfix

	return p
}

func (s *PostfixContext) GetParser() antlr.Parser { return s.parser }

func (s *PostfixContext) Atom() IAtomContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IAtomContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IAtomContext)
}

func (s *PostfixContext) AllArguments() []IArgumentsContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IArgumentsContext); ok {
			len++
		}
	}

	tst := make([]IArgumentsContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IArgumentsContext); ok {
			tst[i] = t.(IArgumentsContext)
			i++
		}
	}

	return tst
}

func (s *PostfixContext) Arguments(i int) IArgumentsContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IArgumentsContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IArgumentsContext)
}

func (s *PostfixContext) AllProjection() []IProjectionContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IProjectionContext); ok {
			len++
		}
	}

	tst := make([]IProjectionContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IProjectionContext); ok {
			tst[i] = t.(IProjectionContext)
			i++
		}
	}

	return tst
}

func (s *PostfixContext) Projection(i int) IProjectionContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IProjectionContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IProjectionContext)
}

func (s *PostfixContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *PostfixContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *PostfixContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterPostfix(s)
	}
}

func (s *PostfixContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitPostfix(s)
	}
}

func (p *RelayParser) Postfix() (localctx IPostfixContext) {
	localctx = NewPostfixContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 34, RelayParserRULE_postfix)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(256)
		p.Atom()
	}
	p.SetState(261)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	for _la == RelayParserLEFT_PAREN || _la == RelayParserFIELD {
		p.SetState(259)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}

		switch p.GetTokenStream().LA(1) {
		case RelayParserLEFT_PAREN:
			{
				p.SetState(257)
				p.Arguments()
			}

		case RelayParserFIELD:
			{
				p.SetState(258)
				p.Projection()
			}

		default:
			p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
			goto errorExit
		}

		p.SetState(263)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IArgumentsContext is an interface to support dynamic dispatch.
type IArgumentsContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	LEFT_PAREN() antlr.TerminalNode
	RIGHT_PAREN() antlr.TerminalNode
	AllArgument() []IArgumentContext
	Argument(i int) IArgumentContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsArgumentsContext differentiates from other interfaces.
	IsArgumentsContext()
}

type ArgumentsContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyArgumentsContext() *ArgumentsContext {
	var p = new(ArgumentsContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_arguments
	return p
}

func InitEmptyArgumentsContext(p *ArgumentsContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_arguments
}

func (*ArgumentsContext) IsArgumentsContext() {}

func NewArgumentsContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ArgumentsContext {
	var p = new(ArgumentsContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_arguments

	return p
}

func (s *ArgumentsContext) GetParser() antlr.Parser { return s.parser }

func (s *ArgumentsContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ArgumentsContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ArgumentsContext) AllArgument() []IArgumentContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IArgumentContext); ok {
			len++
		}
	}

	tst := make([]IArgumentContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IArgumentContext); ok {
			tst[i] = t.(IArgumentContext)
			i++
		}
	}

	return tst
}

func (s *ArgumentsContext) Argument(i int) IArgumentContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IArgumentContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IArgumentContext)
}

func (s *ArgumentsContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *ArgumentsContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *ArgumentsContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ArgumentsContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ArgumentsContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterArguments(s)
	}
}

func (s *ArgumentsContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitArguments(s)
	}
}

func (p *RelayParser) Arguments() (localctx IArgumentsContext) {
	localctx = NewArgumentsContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 36, RelayParserRULE_arguments)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(264)
		p.Match(RelayParserLEFT_PAREN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(273)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&66516143833098) != 0 {
		{
			p.SetState(265)
			p.Argument()
		}
		p.SetState(270)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		for _la == RelayParserCOMMA {
			{
				p.SetState(266)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}
			{
				p.SetState(267)
				p.Argument()
			}

			p.SetState(272)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_la = p.GetTokenStream().LA(1)
		}

	}
	{
		p.SetState(275)
		p.Match(RelayParserRIGHT_PAREN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IArgumentContext is an interface to support dynamic dispatch.
type IArgumentContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Attribute() IAttributeContext
	Expression() IExpressionContext

	// IsArgumentContext differentiates from other interfaces.
	IsArgumentContext()
}

type ArgumentContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyArgumentContext() *ArgumentContext {
	var p = new(ArgumentContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_argument
	return p
}

func InitEmptyArgumentContext(p *ArgumentContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_argument
}

func (*ArgumentContext) IsArgumentContext() {}

func NewArgumentContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ArgumentContext {
	var p = new(ArgumentContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_argument

	return p
}

func (s *ArgumentContext) GetParser() antlr.Parser { return s.parser }

func (s *ArgumentContext) Attribute() IAttributeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IAttributeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IAttributeContext)
}

func (s *ArgumentContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *ArgumentContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ArgumentContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ArgumentContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterArgument(s)
	}
}

func (s *ArgumentContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitArgument(s)
	}
}

func (p *RelayParser) Argument() (localctx IArgumentContext) {
	localctx = NewArgumentContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 38, RelayParserRULE_argument)
	p.SetState(279)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 31, p.GetParserRuleContext()) {
	case 1:
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(277)
			p.Attribute()
		}

	case 2:
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(278)
			p.Expression()
		}

	case antlr.ATNInvalidAltNumber:
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IProjectionContext is an interface to support dynamic dispatch.
type IProjectionContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetField returns the field token.
	GetField() antlr.Token

	// SetField sets the field token.
	SetField(antlr.Token)

	// Getter signatures
	FIELD() antlr.TerminalNode

	// IsProjectionContext differentiates from other interfaces.
	IsProjectionContext()
}

type ProjectionContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	field  antlr.Token
}

func NewEmptyProjectionContext() *ProjectionContext {
	var p = new(ProjectionContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_projection
	return p
}

func InitEmptyProjectionContext(p *ProjectionContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_projection
}

func (*ProjectionContext) IsProjectionContext() {}

func NewProjectionContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ProjectionContext {
	var p = new(ProjectionContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_projection

	return p
}

func (s *ProjectionContext) GetParser() antlr.Parser { return s.parser }

func (s *ProjectionContext) GetField() antlr.Token { return s.field }

func (s *ProjectionContext) SetField(v antlr.Token) { s.field = v }

func (s *ProjectionContext) FIELD() antlr.TerminalNode {
	return s.GetToken(RelayParserFIELD, 0)
}

func (s *ProjectionContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ProjectionContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ProjectionContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterProjection(s)
	}
}

func (s *ProjectionContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitProjection(s)
	}
}

func (p *RelayParser) Projection() (localctx IProjectionContext) {
	localctx = NewProjectionContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 40, RelayParserRULE_projection)
	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(281)

		var _m = p.Match(RelayParserFIELD)

		localctx.(*ProjectionContext).field = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IAtomContext is an interface to support dynamic dispatch.
type IAtomContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser
	// IsAtomContext differentiates from other interfaces.
	IsAtomContext()
}

type AtomContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyAtomContext() *AtomContext {
	var p = new(AtomContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_atom
	return p
}

func InitEmptyAtomContext(p *AtomContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_atom
}

func (*AtomContext) IsAtomContext() {}

func NewAtomContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *AtomContext {
	var p = new(AtomContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_atom

	return p
}

func (s *AtomContext) GetParser() antlr.Parser { return s.parser }

func (s *AtomContext) CopyAll(ctx *AtomContext) {
	s.CopyFrom(&ctx.BaseParserRuleContext)
}

func (s *AtomContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *AtomContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

type ReferenceContext struct {
	AtomContext
	word antlr.Token
}

func NewReferenceContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ReferenceContext {
	var p = new(ReferenceContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *ReferenceContext) GetWord() antlr.Token { return s.word }

func (s *ReferenceContext) SetWord(v antlr.Token) { s.word = v }

func (s *ReferenceContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ReferenceContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ReferenceContext) Elements() IElementsContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IElementsContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IElementsContext)
}

func (s *ReferenceContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ReferenceContext) REF() antlr.TerminalNode {
	return s.GetToken(RelayParserREF, 0)
}

func (s *ReferenceContext) REF_READ() antlr.TerminalNode {
	return s.GetToken(RelayParserREF_READ, 0)
}

func (s *ReferenceContext) REF_WRITE() antlr.TerminalNode {
	return s.GetToken(RelayParserREF_WRITE, 0)
}

func (s *ReferenceContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterReference(s)
	}
}

func (s *ReferenceContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitReference(s)
	}
}

type ParenthesesContext struct {
	AtomContext
}

func NewParenthesesContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ParenthesesContext {
	var p = new(ParenthesesContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *ParenthesesContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ParenthesesContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ParenthesesContext) Elements() IElementsContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IElementsContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IElementsContext)
}

func (s *ParenthesesContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ParenthesesContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterParentheses(s)
	}
}

func (s *ParenthesesContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitParentheses(s)
	}
}

type ScalarContext struct {
	AtomContext
}

func NewScalarContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ScalarContext {
	var p = new(ScalarContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *ScalarContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ScalarContext) Number() INumberContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(INumberContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(INumberContext)
}

func (s *ScalarContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterScalar(s)
	}
}

func (s *ScalarContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitScalar(s)
	}
}

type TruthContext struct {
	AtomContext
	truth antlr.Token
}

func NewTruthContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *TruthContext {
	var p = new(TruthContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *TruthContext) GetTruth() antlr.Token { return s.truth }

func (s *TruthContext) SetTruth(v antlr.Token) { s.truth = v }

func (s *TruthContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TruthContext) TRUE() antlr.TerminalNode {
	return s.GetToken(RelayParserTRUE, 0)
}

func (s *TruthContext) FALSE() antlr.TerminalNode {
	return s.GetToken(RelayParserFALSE, 0)
}

func (s *TruthContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTruth(s)
	}
}

func (s *TruthContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTruth(s)
	}
}

type ConstantContext struct {
	AtomContext
}

func NewConstantContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ConstantContext {
	var p = new(ConstantContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *ConstantContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ConstantContext) Meta() IMetaContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IMetaContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IMetaContext)
}

func (s *ConstantContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterConstant(s)
	}
}

func (s *ConstantContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitConstant(s)
	}
}

type ScopeContext struct {
	AtomContext
}

func NewScopeContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ScopeContext {
	var p = new(ScopeContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *ScopeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ScopeContext) Block() IBlockContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IBlockContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IBlockContext)
}

func (s *ScopeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterScope(s)
	}
}

func (s *ScopeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitScope(s)
	}
}

type MatchContext struct {
	AtomContext
}

func NewMatchContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *MatchContext {
	var p = new(MatchContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *MatchContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *MatchContext) MATCH() antlr.TerminalNode {
	return s.GetToken(RelayParserMATCH, 0)
}

func (s *MatchContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *MatchContext) Scrutinee() IScrutineeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IScrutineeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IScrutineeContext)
}

func (s *MatchContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *MatchContext) LEFT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACE, 0)
}

func (s *MatchContext) RIGHT_BRACE() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACE, 0)
}

func (s *MatchContext) QUESTION() antlr.TerminalNode {
	return s.GetToken(RelayParserQUESTION, 0)
}

func (s *MatchContext) AllClause() []IClauseContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IClauseContext); ok {
			len++
		}
	}

	tst := make([]IClauseContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IClauseContext); ok {
			tst[i] = t.(IClauseContext)
			i++
		}
	}

	return tst
}

func (s *MatchContext) Clause(i int) IClauseContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IClauseContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IClauseContext)
}

func (s *MatchContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *MatchContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *MatchContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterMatch(s)
	}
}

func (s *MatchContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitMatch(s)
	}
}

type GlobalContext struct {
	AtomContext
	global antlr.Token
}

func NewGlobalContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *GlobalContext {
	var p = new(GlobalContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *GlobalContext) GetGlobal() antlr.Token { return s.global }

func (s *GlobalContext) SetGlobal(v antlr.Token) { s.global = v }

func (s *GlobalContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *GlobalContext) GLOBAL() antlr.TerminalNode {
	return s.GetToken(RelayParserGLOBAL, 0)
}

func (s *GlobalContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterGlobal(s)
	}
}

func (s *GlobalContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitGlobal(s)
	}
}

type ClosureContext struct {
	AtomContext
}

func NewClosureContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ClosureContext {
	var p = new(ClosureContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *ClosureContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ClosureContext) Function() IFunctionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IFunctionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IFunctionContext)
}

func (s *ClosureContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterClosure(s)
	}
}

func (s *ClosureContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitClosure(s)
	}
}

type IfContext struct {
	AtomContext
}

func NewIfContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *IfContext {
	var p = new(IfContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *IfContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *IfContext) IF() antlr.TerminalNode {
	return s.GetToken(RelayParserIF, 0)
}

func (s *IfContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *IfContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *IfContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *IfContext) AllBlock() []IBlockContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IBlockContext); ok {
			len++
		}
	}

	tst := make([]IBlockContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IBlockContext); ok {
			tst[i] = t.(IBlockContext)
			i++
		}
	}

	return tst
}

func (s *IfContext) Block(i int) IBlockContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IBlockContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IBlockContext)
}

func (s *IfContext) ELSE() antlr.TerminalNode {
	return s.GetToken(RelayParserELSE, 0)
}

func (s *IfContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterIf(s)
	}
}

func (s *IfContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitIf(s)
	}
}

type LocalContext struct {
	AtomContext
	local antlr.Token
}

func NewLocalContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *LocalContext {
	var p = new(LocalContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *LocalContext) GetLocal() antlr.Token { return s.local }

func (s *LocalContext) SetLocal(v antlr.Token) { s.local = v }

func (s *LocalContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *LocalContext) LOCAL() antlr.TerminalNode {
	return s.GetToken(RelayParserLOCAL, 0)
}

func (s *LocalContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterLocal(s)
	}
}

func (s *LocalContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitLocal(s)
	}
}

type OperatorContext struct {
	AtomContext
	called antlr.Token
}

func NewOperatorContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *OperatorContext {
	var p = new(OperatorContext)

	InitEmptyAtomContext(&p.AtomContext)
	p.parser = parser
	p.CopyAll(ctx.(*AtomContext))

	return p
}

func (s *OperatorContext) GetCalled() antlr.Token { return s.called }

func (s *OperatorContext) SetCalled(v antlr.Token) { s.called = v }

func (s *OperatorContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *OperatorContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *OperatorContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterOperator(s)
	}
}

func (s *OperatorContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitOperator(s)
	}
}

func (p *RelayParser) Atom() (localctx IAtomContext) {
	localctx = NewAtomContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 42, RelayParserRULE_atom)
	var _la int

	var _alt int

	p.SetState(331)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserLOCAL:
		localctx = NewLocalContext(p, localctx)
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(283)

			var _m = p.Match(RelayParserLOCAL)

			localctx.(*LocalContext).local = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserGLOBAL:
		localctx = NewGlobalContext(p, localctx)
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(284)

			var _m = p.Match(RelayParserGLOBAL)

			localctx.(*GlobalContext).global = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserNAME:
		localctx = NewOperatorContext(p, localctx)
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(285)

			var _m = p.Match(RelayParserNAME)

			localctx.(*OperatorContext).called = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserMINUS, RelayParserNUMBER:
		localctx = NewScalarContext(p, localctx)
		p.EnterOuterAlt(localctx, 4)
		{
			p.SetState(286)
			p.Number()
		}

	case RelayParserTRUE, RelayParserFALSE:
		localctx = NewTruthContext(p, localctx)
		p.EnterOuterAlt(localctx, 5)
		{
			p.SetState(287)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*TruthContext).truth = _lt

			_la = p.GetTokenStream().LA(1)

			if !(_la == RelayParserTRUE || _la == RelayParserFALSE) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*TruthContext).truth = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}

	case RelayParserMETA:
		localctx = NewConstantContext(p, localctx)
		p.EnterOuterAlt(localctx, 6)
		{
			p.SetState(288)
			p.Meta()
		}

	case RelayParserLEFT_PAREN:
		localctx = NewParenthesesContext(p, localctx)
		p.EnterOuterAlt(localctx, 7)
		{
			p.SetState(289)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(290)
			p.Elements()
		}
		{
			p.SetState(291)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserFN:
		localctx = NewClosureContext(p, localctx)
		p.EnterOuterAlt(localctx, 8)
		{
			p.SetState(293)
			p.Function()
		}

	case RelayParserIF:
		localctx = NewIfContext(p, localctx)
		p.EnterOuterAlt(localctx, 9)
		{
			p.SetState(294)
			p.Match(RelayParserIF)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(295)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(296)
			p.Expression()
		}
		{
			p.SetState(297)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(298)
			p.Block()
		}
		{
			p.SetState(299)
			p.Match(RelayParserELSE)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(300)
			p.Block()
		}

	case RelayParserMATCH:
		localctx = NewMatchContext(p, localctx)
		p.EnterOuterAlt(localctx, 10)
		{
			p.SetState(302)
			p.Match(RelayParserMATCH)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		p.SetState(304)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserQUESTION {
			{
				p.SetState(303)
				p.Match(RelayParserQUESTION)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}
		{
			p.SetState(306)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(307)
			p.Scrutinee()
		}
		{
			p.SetState(308)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(309)
			p.Match(RelayParserLEFT_BRACE)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		p.SetState(321)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&52776558133250) != 0 {
			{
				p.SetState(310)
				p.Clause()
			}
			p.SetState(315)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 33, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
			for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
				if _alt == 1 {
					{
						p.SetState(311)
						p.Match(RelayParserCOMMA)
						if p.HasError() {
							// Recognition error - abort rule
							goto errorExit
						}
					}
					{
						p.SetState(312)
						p.Clause()
					}

				}
				p.SetState(317)
				p.GetErrorHandler().Sync(p)
				if p.HasError() {
					goto errorExit
				}
				_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 33, p.GetParserRuleContext())
				if p.HasError() {
					goto errorExit
				}
			}
			p.SetState(319)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_la = p.GetTokenStream().LA(1)

			if _la == RelayParserCOMMA {
				{
					p.SetState(318)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}

			}

		}
		{
			p.SetState(323)
			p.Match(RelayParserRIGHT_BRACE)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserLEFT_BRACE:
		localctx = NewScopeContext(p, localctx)
		p.EnterOuterAlt(localctx, 11)
		{
			p.SetState(325)
			p.Block()
		}

	case RelayParserREF, RelayParserREF_READ, RelayParserREF_WRITE:
		localctx = NewReferenceContext(p, localctx)
		p.EnterOuterAlt(localctx, 12)
		{
			p.SetState(326)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*ReferenceContext).word = _lt

			_la = p.GetTokenStream().LA(1)

			if !((int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&60129542144) != 0) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*ReferenceContext).word = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}
		{
			p.SetState(327)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(328)
			p.Elements()
		}
		{
			p.SetState(329)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IElementsContext is an interface to support dynamic dispatch.
type IElementsContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetLast returns the last token.
	GetLast() antlr.Token

	// SetLast sets the last token.
	SetLast(antlr.Token)

	// Getter signatures
	AllStatement() []IStatementContext
	Statement(i int) IStatementContext
	AllExpression() []IExpressionContext
	Expression(i int) IExpressionContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsElementsContext differentiates from other interfaces.
	IsElementsContext()
}

type ElementsContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	last   antlr.Token
}

func NewEmptyElementsContext() *ElementsContext {
	var p = new(ElementsContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_elements
	return p
}

func InitEmptyElementsContext(p *ElementsContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_elements
}

func (*ElementsContext) IsElementsContext() {}

func NewElementsContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ElementsContext {
	var p = new(ElementsContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_elements

	return p
}

func (s *ElementsContext) GetParser() antlr.Parser { return s.parser }

func (s *ElementsContext) GetLast() antlr.Token { return s.last }

func (s *ElementsContext) SetLast(v antlr.Token) { s.last = v }

func (s *ElementsContext) AllStatement() []IStatementContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IStatementContext); ok {
			len++
		}
	}

	tst := make([]IStatementContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IStatementContext); ok {
			tst[i] = t.(IStatementContext)
			i++
		}
	}

	return tst
}

func (s *ElementsContext) Statement(i int) IStatementContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IStatementContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IStatementContext)
}

func (s *ElementsContext) AllExpression() []IExpressionContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IExpressionContext); ok {
			len++
		}
	}

	tst := make([]IExpressionContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IExpressionContext); ok {
			tst[i] = t.(IExpressionContext)
			i++
		}
	}

	return tst
}

func (s *ElementsContext) Expression(i int) IExpressionContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *ElementsContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *ElementsContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *ElementsContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ElementsContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ElementsContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterElements(s)
	}
}

func (s *ElementsContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitElements(s)
	}
}

func (p *RelayParser) Elements() (localctx IElementsContext) {
	localctx = NewElementsContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 44, RelayParserRULE_elements)
	var _la int

	var _alt int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(336)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 37, p.GetParserRuleContext())
	if p.HasError() {
		goto errorExit
	}
	for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
		if _alt == 1 {
			{
				p.SetState(333)
				p.Statement()
			}

		}
		p.SetState(338)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 37, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
	}
	p.SetState(350)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&66512570286090) != 0 {
		{
			p.SetState(339)
			p.Expression()
		}
		p.SetState(344)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 38, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
		for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
			if _alt == 1 {
				{
					p.SetState(340)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}
				{
					p.SetState(341)
					p.Expression()
				}

			}
			p.SetState(346)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 38, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
		}
		p.SetState(348)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserCOMMA {
			{
				p.SetState(347)

				var _m = p.Match(RelayParserCOMMA)

				localctx.(*ElementsContext).last = _m
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IFunctionContext is an interface to support dynamic dispatch.
type IFunctionContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	FN() antlr.TerminalNode
	Signature() ISignatureContext
	Block() IBlockContext
	TypeParameters() ITypeParametersContext

	// IsFunctionContext differentiates from other interfaces.
	IsFunctionContext()
}

type FunctionContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyFunctionContext() *FunctionContext {
	var p = new(FunctionContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_function
	return p
}

func InitEmptyFunctionContext(p *FunctionContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_function
}

func (*FunctionContext) IsFunctionContext() {}

func NewFunctionContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *FunctionContext {
	var p = new(FunctionContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_function

	return p
}

func (s *FunctionContext) GetParser() antlr.Parser { return s.parser }

func (s *FunctionContext) FN() antlr.TerminalNode {
	return s.GetToken(RelayParserFN, 0)
}

func (s *FunctionContext) Signature() ISignatureContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ISignatureContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ISignatureContext)
}

func (s *FunctionContext) Block() IBlockContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IBlockContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IBlockContext)
}

func (s *FunctionContext) TypeParameters() ITypeParametersContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeParametersContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeParametersContext)
}

func (s *FunctionContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *FunctionContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *FunctionContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterFunction(s)
	}
}

func (s *FunctionContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitFunction(s)
	}
}

func (p *RelayParser) Function() (localctx IFunctionContext) {
	localctx = NewFunctionContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 46, RelayParserRULE_function)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(352)
		p.Match(RelayParserFN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(354)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserLEFT_BRACKET {
		{
			p.SetState(353)
			p.TypeParameters()
		}

	}
	{
		p.SetState(356)
		p.Signature()
	}
	{
		p.SetState(357)
		p.Block()
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IScrutineeContext is an interface to support dynamic dispatch.
type IScrutineeContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Expression() IExpressionContext

	// IsScrutineeContext differentiates from other interfaces.
	IsScrutineeContext()
}

type ScrutineeContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyScrutineeContext() *ScrutineeContext {
	var p = new(ScrutineeContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_scrutinee
	return p
}

func InitEmptyScrutineeContext(p *ScrutineeContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_scrutinee
}

func (*ScrutineeContext) IsScrutineeContext() {}

func NewScrutineeContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ScrutineeContext {
	var p = new(ScrutineeContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_scrutinee

	return p
}

func (s *ScrutineeContext) GetParser() antlr.Parser { return s.parser }

func (s *ScrutineeContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *ScrutineeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ScrutineeContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ScrutineeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterScrutinee(s)
	}
}

func (s *ScrutineeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitScrutinee(s)
	}
}

func (p *RelayParser) Scrutinee() (localctx IScrutineeContext) {
	localctx = NewScrutineeContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 48, RelayParserRULE_scrutinee)
	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(359)
		p.Expression()
	}

	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IClauseContext is an interface to support dynamic dispatch.
type IClauseContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Case_() ICaseContext
	CASE_ARROW() antlr.TerminalNode
	Expression() IExpressionContext

	// IsClauseContext differentiates from other interfaces.
	IsClauseContext()
}

type ClauseContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyClauseContext() *ClauseContext {
	var p = new(ClauseContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_clause
	return p
}

func InitEmptyClauseContext(p *ClauseContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_clause
}

func (*ClauseContext) IsClauseContext() {}

func NewClauseContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ClauseContext {
	var p = new(ClauseContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_clause

	return p
}

func (s *ClauseContext) GetParser() antlr.Parser { return s.parser }

func (s *ClauseContext) Case_() ICaseContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ICaseContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ICaseContext)
}

func (s *ClauseContext) CASE_ARROW() antlr.TerminalNode {
	return s.GetToken(RelayParserCASE_ARROW, 0)
}

func (s *ClauseContext) Expression() IExpressionContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IExpressionContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IExpressionContext)
}

func (s *ClauseContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ClauseContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ClauseContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterClause(s)
	}
}

func (s *ClauseContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitClause(s)
	}
}

func (p *RelayParser) Clause() (localctx IClauseContext) {
	localctx = NewClauseContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 50, RelayParserRULE_clause)
	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(361)
		p.Case_()
	}
	{
		p.SetState(362)
		p.Match(RelayParserCASE_ARROW)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(363)
		p.Expression()
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ICaseContext is an interface to support dynamic dispatch.
type ICaseContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Pattern() IPatternContext

	// IsCaseContext differentiates from other interfaces.
	IsCaseContext()
}

type CaseContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyCaseContext() *CaseContext {
	var p = new(CaseContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_case
	return p
}

func InitEmptyCaseContext(p *CaseContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_case
}

func (*CaseContext) IsCaseContext() {}

func NewCaseContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *CaseContext {
	var p = new(CaseContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_case

	return p
}

func (s *CaseContext) GetParser() antlr.Parser { return s.parser }

func (s *CaseContext) Pattern() IPatternContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IPatternContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IPatternContext)
}

func (s *CaseContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *CaseContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *CaseContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterCase(s)
	}
}

func (s *CaseContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitCase(s)
	}
}

func (p *RelayParser) Case_() (localctx ICaseContext) {
	localctx = NewCaseContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 52, RelayParserRULE_case)
	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(365)
		p.Pattern()
	}

	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IPatternContext is an interface to support dynamic dispatch.
type IPatternContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser
	// IsPatternContext differentiates from other interfaces.
	IsPatternContext()
}

type PatternContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyPatternContext() *PatternContext {
	var p = new(PatternContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_pattern
	return p
}

func InitEmptyPatternContext(p *PatternContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_pattern
}

func (*PatternContext) IsPatternContext() {}

func NewPatternContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *PatternContext {
	var p = new(PatternContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_pattern

	return p
}

func (s *PatternContext) GetParser() antlr.Parser { return s.parser }

func (s *PatternContext) CopyAll(ctx *PatternContext) {
	s.CopyFrom(&ctx.BaseParserRuleContext)
}

func (s *PatternContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *PatternContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

type ConstructorPatternContext struct {
	PatternContext
	called  antlr.Token
	bracket antlr.Token
}

func NewConstructorPatternContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ConstructorPatternContext {
	var p = new(ConstructorPatternContext)

	InitEmptyPatternContext(&p.PatternContext)
	p.parser = parser
	p.CopyAll(ctx.(*PatternContext))

	return p
}

func (s *ConstructorPatternContext) GetCalled() antlr.Token { return s.called }

func (s *ConstructorPatternContext) GetBracket() antlr.Token { return s.bracket }

func (s *ConstructorPatternContext) SetCalled(v antlr.Token) { s.called = v }

func (s *ConstructorPatternContext) SetBracket(v antlr.Token) { s.bracket = v }

func (s *ConstructorPatternContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ConstructorPatternContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *ConstructorPatternContext) Patterns() IPatternsContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IPatternsContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IPatternsContext)
}

func (s *ConstructorPatternContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ConstructorPatternContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ConstructorPatternContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterConstructorPattern(s)
	}
}

func (s *ConstructorPatternContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitConstructorPattern(s)
	}
}

type TuplePatternContext struct {
	PatternContext
}

func NewTuplePatternContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *TuplePatternContext {
	var p = new(TuplePatternContext)

	InitEmptyPatternContext(&p.PatternContext)
	p.parser = parser
	p.CopyAll(ctx.(*PatternContext))

	return p
}

func (s *TuplePatternContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TuplePatternContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *TuplePatternContext) Patterns() IPatternsContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IPatternsContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IPatternsContext)
}

func (s *TuplePatternContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *TuplePatternContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTuplePattern(s)
	}
}

func (s *TuplePatternContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTuplePattern(s)
	}
}

type VariablePatternContext struct {
	PatternContext
}

func NewVariablePatternContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *VariablePatternContext {
	var p = new(VariablePatternContext)

	InitEmptyPatternContext(&p.PatternContext)
	p.parser = parser
	p.CopyAll(ctx.(*PatternContext))

	return p
}

func (s *VariablePatternContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *VariablePatternContext) Variable() IVariableContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IVariableContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IVariableContext)
}

func (s *VariablePatternContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterVariablePattern(s)
	}
}

func (s *VariablePatternContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitVariablePattern(s)
	}
}

func (p *RelayParser) Pattern() (localctx IPatternContext) {
	localctx = NewPatternContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 54, RelayParserRULE_pattern)
	var _la int

	p.SetState(379)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserLOCAL:
		localctx = NewVariablePatternContext(p, localctx)
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(367)
			p.Variable()
		}

	case RelayParserNAME:
		localctx = NewConstructorPatternContext(p, localctx)
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(368)

			var _m = p.Match(RelayParserNAME)

			localctx.(*ConstructorPatternContext).called = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		p.SetState(373)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserLEFT_PAREN {
			{
				p.SetState(369)

				var _m = p.Match(RelayParserLEFT_PAREN)

				localctx.(*ConstructorPatternContext).bracket = _m
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}
			{
				p.SetState(370)
				p.Patterns()
			}
			{
				p.SetState(371)
				p.Match(RelayParserRIGHT_PAREN)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	case RelayParserLEFT_PAREN:
		localctx = NewTuplePatternContext(p, localctx)
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(375)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(376)
			p.Patterns()
		}
		{
			p.SetState(377)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IPatternsContext is an interface to support dynamic dispatch.
type IPatternsContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	AllPattern() []IPatternContext
	Pattern(i int) IPatternContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsPatternsContext differentiates from other interfaces.
	IsPatternsContext()
}

type PatternsContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyPatternsContext() *PatternsContext {
	var p = new(PatternsContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_patterns
	return p
}

func InitEmptyPatternsContext(p *PatternsContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_patterns
}

func (*PatternsContext) IsPatternsContext() {}

func NewPatternsContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *PatternsContext {
	var p = new(PatternsContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_patterns

	return p
}

func (s *PatternsContext) GetParser() antlr.Parser { return s.parser }

func (s *PatternsContext) AllPattern() []IPatternContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IPatternContext); ok {
			len++
		}
	}

	tst := make([]IPatternContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IPatternContext); ok {
			tst[i] = t.(IPatternContext)
			i++
		}
	}

	return tst
}

func (s *PatternsContext) Pattern(i int) IPatternContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IPatternContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IPatternContext)
}

func (s *PatternsContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *PatternsContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *PatternsContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *PatternsContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *PatternsContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterPatterns(s)
	}
}

func (s *PatternsContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitPatterns(s)
	}
}

func (p *RelayParser) Patterns() (localctx IPatternsContext) {
	localctx = NewPatternsContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 56, RelayParserRULE_patterns)
	var _la int

	var _alt int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(392)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&52776558133250) != 0 {
		{
			p.SetState(381)
			p.Pattern()
		}
		p.SetState(386)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 44, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
		for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
			if _alt == 1 {
				{
					p.SetState(382)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}
				{
					p.SetState(383)
					p.Pattern()
				}

			}
			p.SetState(388)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 44, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
		}
		p.SetState(390)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserCOMMA {
			{
				p.SetState(389)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ITypeContext is an interface to support dynamic dispatch.
type ITypeContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser
	// IsTypeContext differentiates from other interfaces.
	IsTypeContext()
}

type TypeContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyTypeContext() *TypeContext {
	var p = new(TypeContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_type
	return p
}

func InitEmptyTypeContext(p *TypeContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_type
}

func (*TypeContext) IsTypeContext() {}

func NewTypeContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *TypeContext {
	var p = new(TypeContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_type

	return p
}

func (s *TypeContext) GetParser() antlr.Parser { return s.parser }

func (s *TypeContext) CopyAll(ctx *TypeContext) {
	s.CopyFrom(&ctx.BaseParserRuleContext)
}

func (s *TypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TypeContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

type NamedTypeContext struct {
	TypeContext
	named   antlr.Token
	bracket antlr.Token
}

func NewNamedTypeContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *NamedTypeContext {
	var p = new(NamedTypeContext)

	InitEmptyTypeContext(&p.TypeContext)
	p.parser = parser
	p.CopyAll(ctx.(*TypeContext))

	return p
}

func (s *NamedTypeContext) GetNamed() antlr.Token { return s.named }

func (s *NamedTypeContext) GetBracket() antlr.Token { return s.bracket }

func (s *NamedTypeContext) SetNamed(v antlr.Token) { s.named = v }

func (s *NamedTypeContext) SetBracket(v antlr.Token) { s.bracket = v }

func (s *NamedTypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *NamedTypeContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *NamedTypeContext) Types() ITypesContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypesContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypesContext)
}

func (s *NamedTypeContext) RIGHT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACKET, 0)
}

func (s *NamedTypeContext) LEFT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACKET, 0)
}

func (s *NamedTypeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterNamedType(s)
	}
}

func (s *NamedTypeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitNamedType(s)
	}
}

type ReferenceTypeContext struct {
	TypeContext
}

func NewReferenceTypeContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ReferenceTypeContext {
	var p = new(ReferenceTypeContext)

	InitEmptyTypeContext(&p.TypeContext)
	p.parser = parser
	p.CopyAll(ctx.(*TypeContext))

	return p
}

func (s *ReferenceTypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ReferenceTypeContext) REF() antlr.TerminalNode {
	return s.GetToken(RelayParserREF, 0)
}

func (s *ReferenceTypeContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ReferenceTypeContext) Type_() ITypeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeContext)
}

func (s *ReferenceTypeContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ReferenceTypeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterReferenceType(s)
	}
}

func (s *ReferenceTypeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitReferenceType(s)
	}
}

type TupleTypeContext struct {
	TypeContext
}

func NewTupleTypeContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *TupleTypeContext {
	var p = new(TupleTypeContext)

	InitEmptyTypeContext(&p.TypeContext)
	p.parser = parser
	p.CopyAll(ctx.(*TypeContext))

	return p
}

func (s *TupleTypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TupleTypeContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *TupleTypeContext) Types() ITypesContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypesContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypesContext)
}

func (s *TupleTypeContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *TupleTypeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTupleType(s)
	}
}

func (s *TupleTypeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTupleType(s)
	}
}

type FunctionTypeContext struct {
	TypeContext
}

func NewFunctionTypeContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *FunctionTypeContext {
	var p = new(FunctionTypeContext)

	InitEmptyTypeContext(&p.TypeContext)
	p.parser = parser
	p.CopyAll(ctx.(*TypeContext))

	return p
}

func (s *FunctionTypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *FunctionTypeContext) FN() antlr.TerminalNode {
	return s.GetToken(RelayParserFN, 0)
}

func (s *FunctionTypeContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *FunctionTypeContext) Types() ITypesContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypesContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypesContext)
}

func (s *FunctionTypeContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *FunctionTypeContext) ARROW() antlr.TerminalNode {
	return s.GetToken(RelayParserARROW, 0)
}

func (s *FunctionTypeContext) Type_() ITypeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeContext)
}

func (s *FunctionTypeContext) TypeParameters() ITypeParametersContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeParametersContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeParametersContext)
}

func (s *FunctionTypeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterFunctionType(s)
	}
}

func (s *FunctionTypeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitFunctionType(s)
	}
}

type TensorTypeContext struct {
	TypeContext
	element antlr.Token
}

func NewTensorTypeContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *TensorTypeContext {
	var p = new(TensorTypeContext)

	InitEmptyTypeContext(&p.TypeContext)
	p.parser = parser
	p.CopyAll(ctx.(*TypeContext))

	return p
}

func (s *TensorTypeContext) GetElement() antlr.Token { return s.element }

func (s *TensorTypeContext) SetElement(v antlr.Token) { s.element = v }

func (s *TensorTypeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TensorTypeContext) TENSOR() antlr.TerminalNode {
	return s.GetToken(RelayParserTENSOR, 0)
}

func (s *TensorTypeContext) LEFT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACKET, 0)
}

func (s *TensorTypeContext) Shape() IShapeContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IShapeContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IShapeContext)
}

func (s *TensorTypeContext) COMMA() antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, 0)
}

func (s *TensorTypeContext) RIGHT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACKET, 0)
}

func (s *TensorTypeContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *TensorTypeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTensorType(s)
	}
}

func (s *TensorTypeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTensorType(s)
	}
}

func (p *RelayParser) Type_() (localctx ITypeContext) {
	localctx = NewTypeContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 58, RelayParserRULE_type)
	var _la int

	p.SetState(427)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserTENSOR:
		localctx = NewTensorTypeContext(p, localctx)
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(394)
			p.Match(RelayParserTENSOR)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(395)
			p.Match(RelayParserLEFT_BRACKET)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(396)
			p.Shape()
		}
		{
			p.SetState(397)
			p.Match(RelayParserCOMMA)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(398)

			var _m = p.Match(RelayParserNAME)

			localctx.(*TensorTypeContext).element = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(399)
			p.Match(RelayParserRIGHT_BRACKET)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserNAME:
		localctx = NewNamedTypeContext(p, localctx)
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(401)

			var _m = p.Match(RelayParserNAME)

			localctx.(*NamedTypeContext).named = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		p.SetState(406)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserLEFT_BRACKET {
			{
				p.SetState(402)

				var _m = p.Match(RelayParserLEFT_BRACKET)

				localctx.(*NamedTypeContext).bracket = _m
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}
			{
				p.SetState(403)
				p.Types()
			}
			{
				p.SetState(404)
				p.Match(RelayParserRIGHT_BRACKET)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	case RelayParserLEFT_PAREN:
		localctx = NewTupleTypeContext(p, localctx)
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(408)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(409)
			p.Types()
		}
		{
			p.SetState(410)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserFN:
		localctx = NewFunctionTypeContext(p, localctx)
		p.EnterOuterAlt(localctx, 4)
		{
			p.SetState(412)
			p.Match(RelayParserFN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		p.SetState(414)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserLEFT_BRACKET {
			{
				p.SetState(413)
				p.TypeParameters()
			}

		}
		{
			p.SetState(416)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(417)
			p.Types()
		}
		{
			p.SetState(418)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(419)
			p.Match(RelayParserARROW)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(420)
			p.Type_()
		}

	case RelayParserREF:
		localctx = NewReferenceTypeContext(p, localctx)
		p.EnterOuterAlt(localctx, 5)
		{
			p.SetState(422)
			p.Match(RelayParserREF)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(423)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(424)
			p.Type_()
		}
		{
			p.SetState(425)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// ITypesContext is an interface to support dynamic dispatch.
type ITypesContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetLast returns the last token.
	GetLast() antlr.Token

	// SetLast sets the last token.
	SetLast(antlr.Token)

	// Getter signatures
	AllType_() []ITypeContext
	Type_(i int) ITypeContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsTypesContext differentiates from other interfaces.
	IsTypesContext()
}

type TypesContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	last   antlr.Token
}

func NewEmptyTypesContext() *TypesContext {
	var p = new(TypesContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_types
	return p
}

func InitEmptyTypesContext(p *TypesContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_types
}

func (*TypesContext) IsTypesContext() {}

func NewTypesContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *TypesContext {
	var p = new(TypesContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_types

	return p
}

func (s *TypesContext) GetParser() antlr.Parser { return s.parser }

func (s *TypesContext) GetLast() antlr.Token { return s.last }

func (s *TypesContext) SetLast(v antlr.Token) { s.last = v }

func (s *TypesContext) AllType_() []ITypeContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(ITypeContext); ok {
			len++
		}
	}

	tst := make([]ITypeContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(ITypeContext); ok {
			tst[i] = t.(ITypeContext)
			i++
		}
	}

	return tst
}

func (s *TypesContext) Type_(i int) ITypeContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(ITypeContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(ITypeContext)
}

func (s *TypesContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *TypesContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *TypesContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TypesContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *TypesContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTypes(s)
	}
}

func (s *TypesContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTypes(s)
	}
}

func (p *RelayParser) Types() (localctx ITypesContext) {
	localctx = NewTypesContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 60, RelayParserRULE_types)
	var _la int

	var _alt int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(440)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&35742751391746) != 0 {
		{
			p.SetState(429)
			p.Type_()
		}
		p.SetState(434)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 50, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
		for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
			if _alt == 1 {
				{
					p.SetState(430)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}
				{
					p.SetState(431)
					p.Type_()
				}

			}
			p.SetState(436)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 50, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
		}
		p.SetState(438)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserCOMMA {
			{
				p.SetState(437)

				var _m = p.Match(RelayParserCOMMA)

				localctx.(*TypesContext).last = _m
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IShapeContext is an interface to support dynamic dispatch.
type IShapeContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	LEFT_PAREN() antlr.TerminalNode
	RIGHT_PAREN() antlr.TerminalNode
	AllDimension() []IDimensionContext
	Dimension(i int) IDimensionContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsShapeContext differentiates from other interfaces.
	IsShapeContext()
}

type ShapeContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyShapeContext() *ShapeContext {
	var p = new(ShapeContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_shape
	return p
}

func InitEmptyShapeContext(p *ShapeContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_shape
}

func (*ShapeContext) IsShapeContext() {}

func NewShapeContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ShapeContext {
	var p = new(ShapeContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_shape

	return p
}

func (s *ShapeContext) GetParser() antlr.Parser { return s.parser }

func (s *ShapeContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ShapeContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ShapeContext) AllDimension() []IDimensionContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IDimensionContext); ok {
			len++
		}
	}

	tst := make([]IDimensionContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IDimensionContext); ok {
			tst[i] = t.(IDimensionContext)
			i++
		}
	}

	return tst
}

func (s *ShapeContext) Dimension(i int) IDimensionContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IDimensionContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IDimensionContext)
}

func (s *ShapeContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *ShapeContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *ShapeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ShapeContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ShapeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterShape(s)
	}
}

func (s *ShapeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitShape(s)
	}
}

func (p *RelayParser) Shape() (localctx IShapeContext) {
	localctx = NewShapeContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 62, RelayParserRULE_shape)
	var _la int

	var _alt int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(442)
		p.Match(RelayParserLEFT_PAREN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	p.SetState(454)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&39582420705280) != 0 {
		{
			p.SetState(443)
			p.Dimension()
		}
		p.SetState(448)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 53, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
		for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
			if _alt == 1 {
				{
					p.SetState(444)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}
				{
					p.SetState(445)
					p.Dimension()
				}

			}
			p.SetState(450)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 53, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
		}
		p.SetState(452)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserCOMMA {
			{
				p.SetState(451)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	}
	{
		p.SetState(456)
		p.Match(RelayParserRIGHT_PAREN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IDimensionContext is an interface to support dynamic dispatch.
type IDimensionContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetMinus returns the minus token.
	GetMinus() antlr.Token

	// GetExtent returns the extent token.
	GetExtent() antlr.Token

	// SetMinus sets the minus token.
	SetMinus(antlr.Token)

	// SetExtent sets the extent token.
	SetExtent(antlr.Token)

	// Getter signatures
	NUMBER() antlr.TerminalNode
	MINUS() antlr.TerminalNode
	QUESTION() antlr.TerminalNode
	NAME() antlr.TerminalNode

	// IsDimensionContext differentiates from other interfaces.
	IsDimensionContext()
}

type DimensionContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	minus  antlr.Token
	extent antlr.Token
}

func NewEmptyDimensionContext() *DimensionContext {
	var p = new(DimensionContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_dimension
	return p
}

func InitEmptyDimensionContext(p *DimensionContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_dimension
}

func (*DimensionContext) IsDimensionContext() {}

func NewDimensionContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *DimensionContext {
	var p = new(DimensionContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_dimension

	return p
}

func (s *DimensionContext) GetParser() antlr.Parser { return s.parser }

func (s *DimensionContext) GetMinus() antlr.Token { return s.minus }

func (s *DimensionContext) GetExtent() antlr.Token { return s.extent }

func (s *DimensionContext) SetMinus(v antlr.Token) { s.minus = v }

func (s *DimensionContext) SetExtent(v antlr.Token) { s.extent = v }

func (s *DimensionContext) NUMBER() antlr.TerminalNode {
	return s.GetToken(RelayParserNUMBER, 0)
}

func (s *DimensionContext) MINUS() antlr.TerminalNode {
	return s.GetToken(RelayParserMINUS, 0)
}

func (s *DimensionContext) QUESTION() antlr.TerminalNode {
	return s.GetToken(RelayParserQUESTION, 0)
}

func (s *DimensionContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *DimensionContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *DimensionContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *DimensionContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterDimension(s)
	}
}

func (s *DimensionContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitDimension(s)
	}
}

func (p *RelayParser) Dimension() (localctx IDimensionContext) {
	localctx = NewDimensionContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 64, RelayParserRULE_dimension)
	var _la int

	p.SetState(464)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserMINUS, RelayParserNUMBER:
		p.EnterOuterAlt(localctx, 1)
		p.SetState(459)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserMINUS {
			{
				p.SetState(458)

				var _m = p.Match(RelayParserMINUS)

				localctx.(*DimensionContext).minus = _m
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}
		{
			p.SetState(461)

			var _m = p.Match(RelayParserNUMBER)

			localctx.(*DimensionContext).extent = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserQUESTION:
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(462)

			var _m = p.Match(RelayParserQUESTION)

			localctx.(*DimensionContext).extent = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserNAME:
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(463)

			var _m = p.Match(RelayParserNAME)

			localctx.(*DimensionContext).extent = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IAttributeContext is an interface to support dynamic dispatch.
type IAttributeContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	Name() INameContext
	ASSIGN() antlr.TerminalNode
	Value() IValueContext

	// IsAttributeContext differentiates from other interfaces.
	IsAttributeContext()
}

type AttributeContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyAttributeContext() *AttributeContext {
	var p = new(AttributeContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_attribute
	return p
}

func InitEmptyAttributeContext(p *AttributeContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_attribute
}

func (*AttributeContext) IsAttributeContext() {}

func NewAttributeContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *AttributeContext {
	var p = new(AttributeContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_attribute

	return p
}

func (s *AttributeContext) GetParser() antlr.Parser { return s.parser }

func (s *AttributeContext) Name() INameContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(INameContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(INameContext)
}

func (s *AttributeContext) ASSIGN() antlr.TerminalNode {
	return s.GetToken(RelayParserASSIGN, 0)
}

func (s *AttributeContext) Value() IValueContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IValueContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IValueContext)
}

func (s *AttributeContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *AttributeContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *AttributeContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterAttribute(s)
	}
}

func (s *AttributeContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitAttribute(s)
	}
}

func (p *RelayParser) Attribute() (localctx IAttributeContext) {
	localctx = NewAttributeContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 66, RelayParserRULE_attribute)
	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(466)
		p.Name()
	}
	{
		p.SetState(467)
		p.Match(RelayParserASSIGN)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(468)
		p.Value()
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// INameContext is an interface to support dynamic dispatch.
type INameContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	NAME() antlr.TerminalNode
	TYPE() antlr.TerminalNode
	EXTERN() antlr.TerminalNode
	DEF() antlr.TerminalNode
	MATCH() antlr.TerminalNode
	REF() antlr.TerminalNode
	META() antlr.TerminalNode
	FN() antlr.TerminalNode
	LET() antlr.TerminalNode
	IF() antlr.TerminalNode
	ELSE() antlr.TerminalNode

	// IsNameContext differentiates from other interfaces.
	IsNameContext()
}

type NameContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyNameContext() *NameContext {
	var p = new(NameContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_name
	return p
}

func InitEmptyNameContext(p *NameContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_name
}

func (*NameContext) IsNameContext() {}

func NewNameContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *NameContext {
	var p = new(NameContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_name

	return p
}

func (s *NameContext) GetParser() antlr.Parser { return s.parser }

func (s *NameContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *NameContext) TYPE() antlr.TerminalNode {
	return s.GetToken(RelayParserTYPE, 0)
}

func (s *NameContext) EXTERN() antlr.TerminalNode {
	return s.GetToken(RelayParserEXTERN, 0)
}

func (s *NameContext) DEF() antlr.TerminalNode {
	return s.GetToken(RelayParserDEF, 0)
}

func (s *NameContext) MATCH() antlr.TerminalNode {
	return s.GetToken(RelayParserMATCH, 0)
}

func (s *NameContext) REF() antlr.TerminalNode {
	return s.GetToken(RelayParserREF, 0)
}

func (s *NameContext) META() antlr.TerminalNode {
	return s.GetToken(RelayParserMETA, 0)
}

func (s *NameContext) FN() antlr.TerminalNode {
	return s.GetToken(RelayParserFN, 0)
}

func (s *NameContext) LET() antlr.TerminalNode {
	return s.GetToken(RelayParserLET, 0)
}

func (s *NameContext) IF() antlr.TerminalNode {
	return s.GetToken(RelayParserIF, 0)
}

func (s *NameContext) ELSE() antlr.TerminalNode {
	return s.GetToken(RelayParserELSE, 0)
}

func (s *NameContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *NameContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *NameContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterName(s)
	}
}

func (s *NameContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitName(s)
	}
}

func (p *RelayParser) Name() (localctx INameContext) {
	localctx = NewNameContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 68, RelayParserRULE_name)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(470)
		_la = p.GetTokenStream().LA(1)

		if !((int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&35472118120448) != 0) {
			p.GetErrorHandler().RecoverInline(p)
		} else {
			p.GetErrorHandler().ReportMatch(p)
			p.Consume()
		}
	}

	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IValueContext is an interface to support dynamic dispatch.
type IValueContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser
	// IsValueContext differentiates from other interfaces.
	IsValueContext()
}

type ValueContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyValueContext() *ValueContext {
	var p = new(ValueContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_value
	return p
}

func InitEmptyValueContext(p *ValueContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_value
}

func (*ValueContext) IsValueContext() {}

func NewValueContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ValueContext {
	var p = new(ValueContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_value

	return p
}

func (s *ValueContext) GetParser() antlr.Parser { return s.parser }

func (s *ValueContext) CopyAll(ctx *ValueContext) {
	s.CopyFrom(&ctx.BaseParserRuleContext)
}

func (s *ValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ValueContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

type MetaValueContext struct {
	ValueContext
}

func NewMetaValueContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *MetaValueContext {
	var p = new(MetaValueContext)

	InitEmptyValueContext(&p.ValueContext)
	p.parser = parser
	p.CopyAll(ctx.(*ValueContext))

	return p
}

func (s *MetaValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *MetaValueContext) Meta() IMetaContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IMetaContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IMetaContext)
}

func (s *MetaValueContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterMetaValue(s)
	}
}

func (s *MetaValueContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitMetaValue(s)
	}
}

type ListValueContext struct {
	ValueContext
}

func NewListValueContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *ListValueContext {
	var p = new(ListValueContext)

	InitEmptyValueContext(&p.ValueContext)
	p.parser = parser
	p.CopyAll(ctx.(*ValueContext))

	return p
}

func (s *ListValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ListValueContext) LEFT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACKET, 0)
}

func (s *ListValueContext) Values() IValuesContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IValuesContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(IValuesContext)
}

func (s *ListValueContext) RIGHT_BRACKET() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACKET, 0)
}

func (s *ListValueContext) LEFT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_PAREN, 0)
}

func (s *ListValueContext) RIGHT_PAREN() antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_PAREN, 0)
}

func (s *ListValueContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterListValue(s)
	}
}

func (s *ListValueContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitListValue(s)
	}
}

type NameValueContext struct {
	ValueContext
	named antlr.Token
}

func NewNameValueContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *NameValueContext {
	var p = new(NameValueContext)

	InitEmptyValueContext(&p.ValueContext)
	p.parser = parser
	p.CopyAll(ctx.(*ValueContext))

	return p
}

func (s *NameValueContext) GetNamed() antlr.Token { return s.named }

func (s *NameValueContext) SetNamed(v antlr.Token) { s.named = v }

func (s *NameValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *NameValueContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *NameValueContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterNameValue(s)
	}
}

func (s *NameValueContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitNameValue(s)
	}
}

type TextValueContext struct {
	ValueContext
	quoted antlr.Token
}

func NewTextValueContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *TextValueContext {
	var p = new(TextValueContext)

	InitEmptyValueContext(&p.ValueContext)
	p.parser = parser
	p.CopyAll(ctx.(*ValueContext))

	return p
}

func (s *TextValueContext) GetQuoted() antlr.Token { return s.quoted }

func (s *TextValueContext) SetQuoted(v antlr.Token) { s.quoted = v }

func (s *TextValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TextValueContext) STRING() antlr.TerminalNode {
	return s.GetToken(RelayParserSTRING, 0)
}

func (s *TextValueContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTextValue(s)
	}
}

func (s *TextValueContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTextValue(s)
	}
}

type TruthValueContext struct {
	ValueContext
	truth antlr.Token
}

func NewTruthValueContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *TruthValueContext {
	var p = new(TruthValueContext)

	InitEmptyValueContext(&p.ValueContext)
	p.parser = parser
	p.CopyAll(ctx.(*ValueContext))

	return p
}

func (s *TruthValueContext) GetTruth() antlr.Token { return s.truth }

func (s *TruthValueContext) SetTruth(v antlr.Token) { s.truth = v }

func (s *TruthValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *TruthValueContext) TRUE() antlr.TerminalNode {
	return s.GetToken(RelayParserTRUE, 0)
}

func (s *TruthValueContext) FALSE() antlr.TerminalNode {
	return s.GetToken(RelayParserFALSE, 0)
}

func (s *TruthValueContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterTruthValue(s)
	}
}

func (s *TruthValueContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitTruthValue(s)
	}
}

type NumberValueContext struct {
	ValueContext
}

func NewNumberValueContext(parser antlr.Parser, ctx antlr.ParserRuleContext) *NumberValueContext {
	var p = new(NumberValueContext)

	InitEmptyValueContext(&p.ValueContext)
	p.parser = parser
	p.CopyAll(ctx.(*ValueContext))

	return p
}

func (s *NumberValueContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *NumberValueContext) Number() INumberContext {
	var t antlr.RuleContext
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(INumberContext); ok {
			t = ctx.(antlr.RuleContext)
			break
		}
	}

	if t == nil {
		return nil
	}

	return t.(INumberContext)
}

func (s *NumberValueContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterNumberValue(s)
	}
}

func (s *NumberValueContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitNumberValue(s)
	}
}

func (p *RelayParser) Value() (localctx IValueContext) {
	localctx = NewValueContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 70, RelayParserRULE_value)
	var _la int

	p.SetState(485)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}

	switch p.GetTokenStream().LA(1) {
	case RelayParserMINUS, RelayParserNUMBER:
		localctx = NewNumberValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 1)
		{
			p.SetState(472)
			p.Number()
		}

	case RelayParserSTRING:
		localctx = NewTextValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 2)
		{
			p.SetState(473)

			var _m = p.Match(RelayParserSTRING)

			localctx.(*TextValueContext).quoted = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserTRUE, RelayParserFALSE:
		localctx = NewTruthValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 3)
		{
			p.SetState(474)

			var _lt = p.GetTokenStream().LT(1)

			localctx.(*TruthValueContext).truth = _lt

			_la = p.GetTokenStream().LA(1)

			if !(_la == RelayParserTRUE || _la == RelayParserFALSE) {
				var _ri = p.GetErrorHandler().RecoverInline(p)

				localctx.(*TruthValueContext).truth = _ri
			} else {
				p.GetErrorHandler().ReportMatch(p)
				p.Consume()
			}
		}

	case RelayParserNAME:
		localctx = NewNameValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 4)
		{
			p.SetState(475)

			var _m = p.Match(RelayParserNAME)

			localctx.(*NameValueContext).named = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserMETA:
		localctx = NewMetaValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 5)
		{
			p.SetState(476)
			p.Meta()
		}

	case RelayParserLEFT_BRACKET:
		localctx = NewListValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 6)
		{
			p.SetState(477)
			p.Match(RelayParserLEFT_BRACKET)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(478)
			p.Values()
		}
		{
			p.SetState(479)
			p.Match(RelayParserRIGHT_BRACKET)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	case RelayParserLEFT_PAREN:
		localctx = NewListValueContext(p, localctx)
		p.EnterOuterAlt(localctx, 7)
		{
			p.SetState(481)
			p.Match(RelayParserLEFT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}
		{
			p.SetState(482)
			p.Values()
		}
		{
			p.SetState(483)
			p.Match(RelayParserRIGHT_PAREN)
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	default:
		p.SetError(antlr.NewNoViableAltException(p, nil, nil, nil, nil, nil))
		goto errorExit
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IValuesContext is an interface to support dynamic dispatch.
type IValuesContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// Getter signatures
	AllValue() []IValueContext
	Value(i int) IValueContext
	AllCOMMA() []antlr.TerminalNode
	COMMA(i int) antlr.TerminalNode

	// IsValuesContext differentiates from other interfaces.
	IsValuesContext()
}

type ValuesContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
}

func NewEmptyValuesContext() *ValuesContext {
	var p = new(ValuesContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_values
	return p
}

func InitEmptyValuesContext(p *ValuesContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_values
}

func (*ValuesContext) IsValuesContext() {}

func NewValuesContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *ValuesContext {
	var p = new(ValuesContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_values

	return p
}

func (s *ValuesContext) GetParser() antlr.Parser { return s.parser }

func (s *ValuesContext) AllValue() []IValueContext {
	children := s.GetChildren()
	len := 0
	for _, ctx := range children {
		if _, ok := ctx.(IValueContext); ok {
			len++
		}
	}

	tst := make([]IValueContext, len)
	i := 0
	for _, ctx := range children {
		if t, ok := ctx.(IValueContext); ok {
			tst[i] = t.(IValueContext)
			i++
		}
	}

	return tst
}

func (s *ValuesContext) Value(i int) IValueContext {
	var t antlr.RuleContext
	j := 0
	for _, ctx := range s.GetChildren() {
		if _, ok := ctx.(IValueContext); ok {
			if j == i {
				t = ctx.(antlr.RuleContext)
				break
			}
			j++
		}
	}

	if t == nil {
		return nil
	}

	return t.(IValueContext)
}

func (s *ValuesContext) AllCOMMA() []antlr.TerminalNode {
	return s.GetTokens(RelayParserCOMMA)
}

func (s *ValuesContext) COMMA(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserCOMMA, i)
}

func (s *ValuesContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *ValuesContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *ValuesContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterValues(s)
	}
}

func (s *ValuesContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitValues(s)
	}
}

func (p *RelayParser) Values() (localctx IValuesContext) {
	localctx = NewValuesContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 72, RelayParserRULE_values)
	var _la int

	var _alt int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(498)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if (int64(_la) & ^0x3f) == 0 && ((int64(1)<<_la)&180800945389602) != 0 {
		{
			p.SetState(487)
			p.Value()
		}
		p.SetState(492)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 59, p.GetParserRuleContext())
		if p.HasError() {
			goto errorExit
		}
		for _alt != 2 && _alt != antlr.ATNInvalidAltNumber {
			if _alt == 1 {
				{
					p.SetState(488)
					p.Match(RelayParserCOMMA)
					if p.HasError() {
						// Recognition error - abort rule
						goto errorExit
					}
				}
				{
					p.SetState(489)
					p.Value()
				}

			}
			p.SetState(494)
			p.GetErrorHandler().Sync(p)
			if p.HasError() {
				goto errorExit
			}
			_alt = p.GetInterpreter().AdaptivePredict(p.BaseParser, p.GetTokenStream(), 59, p.GetParserRuleContext())
			if p.HasError() {
				goto errorExit
			}
		}
		p.SetState(496)
		p.GetErrorHandler().Sync(p)
		if p.HasError() {
			goto errorExit
		}
		_la = p.GetTokenStream().LA(1)

		if _la == RelayParserCOMMA {
			{
				p.SetState(495)
				p.Match(RelayParserCOMMA)
				if p.HasError() {
					// Recognition error - abort rule
					goto errorExit
				}
			}

		}

	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// INumberContext is an interface to support dynamic dispatch.
type INumberContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetMinus returns the minus token.
	GetMinus() antlr.Token

	// GetDigits returns the digits token.
	GetDigits() antlr.Token

	// SetMinus sets the minus token.
	SetMinus(antlr.Token)

	// SetDigits sets the digits token.
	SetDigits(antlr.Token)

	// Getter signatures
	NUMBER() antlr.TerminalNode
	MINUS() antlr.TerminalNode

	// IsNumberContext differentiates from other interfaces.
	IsNumberContext()
}

type NumberContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	minus  antlr.Token
	digits antlr.Token
}

func NewEmptyNumberContext() *NumberContext {
	var p = new(NumberContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_number
	return p
}

func InitEmptyNumberContext(p *NumberContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_number
}

func (*NumberContext) IsNumberContext() {}

func NewNumberContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *NumberContext {
	var p = new(NumberContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_number

	return p
}

func (s *NumberContext) GetParser() antlr.Parser { return s.parser }

func (s *NumberContext) GetMinus() antlr.Token { return s.minus }

func (s *NumberContext) GetDigits() antlr.Token { return s.digits }

func (s *NumberContext) SetMinus(v antlr.Token) { s.minus = v }

func (s *NumberContext) SetDigits(v antlr.Token) { s.digits = v }

func (s *NumberContext) NUMBER() antlr.TerminalNode {
	return s.GetToken(RelayParserNUMBER, 0)
}

func (s *NumberContext) MINUS() antlr.TerminalNode {
	return s.GetToken(RelayParserMINUS, 0)
}

func (s *NumberContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *NumberContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *NumberContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterNumber(s)
	}
}

func (s *NumberContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitNumber(s)
	}
}

func (p *RelayParser) Number() (localctx INumberContext) {
	localctx = NewNumberContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 74, RelayParserRULE_number)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	p.SetState(501)
	p.GetErrorHandler().Sync(p)
	if p.HasError() {
		goto errorExit
	}
	_la = p.GetTokenStream().LA(1)

	if _la == RelayParserMINUS {
		{
			p.SetState(500)

			var _m = p.Match(RelayParserMINUS)

			localctx.(*NumberContext).minus = _m
			if p.HasError() {
				// Recognition error - abort rule
				goto errorExit
			}
		}

	}
	{
		p.SetState(503)

		var _m = p.Match(RelayParserNUMBER)

		localctx.(*NumberContext).digits = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}

// IMetaContext is an interface to support dynamic dispatch.
type IMetaContext interface {
	antlr.ParserRuleContext

	// GetParser returns the parser.
	GetParser() antlr.Parser

	// GetKind returns the kind token.
	GetKind() antlr.Token

	// GetIndex returns the index token.
	GetIndex() antlr.Token

	// SetKind sets the kind token.
	SetKind(antlr.Token)

	// SetIndex sets the index token.
	SetIndex(antlr.Token)

	// Getter signatures
	META() antlr.TerminalNode
	AllLEFT_BRACKET() []antlr.TerminalNode
	LEFT_BRACKET(i int) antlr.TerminalNode
	AllRIGHT_BRACKET() []antlr.TerminalNode
	RIGHT_BRACKET(i int) antlr.TerminalNode
	NUMBER() antlr.TerminalNode
	NAME() antlr.TerminalNode
	STRING() antlr.TerminalNode

	// IsMetaContext differentiates from other interfaces.
	IsMetaContext()
}

type MetaContext struct {
	antlr.BaseParserRuleContext
	parser antlr.Parser
	kind   antlr.Token
	index  antlr.Token
}

func NewEmptyMetaContext() *MetaContext {
	var p = new(MetaContext)
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_meta
	return p
}

func InitEmptyMetaContext(p *MetaContext) {
	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, nil, -1)
	p.RuleIndex = RelayParserRULE_meta
}

func (*MetaContext) IsMetaContext() {}

func NewMetaContext(parser antlr.Parser, parent antlr.ParserRuleContext, invokingState int) *MetaContext {
	var p = new(MetaContext)

	antlr.InitBaseParserRuleContext(&p.BaseParserRuleContext, parent, invokingState)

	p.parser = parser
	p.RuleIndex = RelayParserRULE_meta

	return p
}

func (s *MetaContext) GetParser() antlr.Parser { return s.parser }

func (s *MetaContext) GetKind() antlr.Token { return s.kind }

func (s *MetaContext) GetIndex() antlr.Token { return s.index }

func (s *MetaContext) SetKind(v antlr.Token) { s.kind = v }

func (s *MetaContext) SetIndex(v antlr.Token) { s.index = v }

func (s *MetaContext) META() antlr.TerminalNode {
	return s.GetToken(RelayParserMETA, 0)
}

func (s *MetaContext) AllLEFT_BRACKET() []antlr.TerminalNode {
	return s.GetTokens(RelayParserLEFT_BRACKET)
}

func (s *MetaContext) LEFT_BRACKET(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserLEFT_BRACKET, i)
}

func (s *MetaContext) AllRIGHT_BRACKET() []antlr.TerminalNode {
	return s.GetTokens(RelayParserRIGHT_BRACKET)
}

func (s *MetaContext) RIGHT_BRACKET(i int) antlr.TerminalNode {
	return s.GetToken(RelayParserRIGHT_BRACKET, i)
}

func (s *MetaContext) NUMBER() antlr.TerminalNode {
	return s.GetToken(RelayParserNUMBER, 0)
}

func (s *MetaContext) NAME() antlr.TerminalNode {
	return s.GetToken(RelayParserNAME, 0)
}

func (s *MetaContext) STRING() antlr.TerminalNode {
	return s.GetToken(RelayParserSTRING, 0)
}

func (s *MetaContext) GetRuleContext() antlr.RuleContext {
	return s
}

func (s *MetaContext) ToStringTree(ruleNames []string, recog antlr.Recognizer) string {
	return antlr.TreesStringTree(s, ruleNames, recog)
}

func (s *MetaContext) EnterRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.EnterMeta(s)
	}
}

func (s *MetaContext) ExitRule(listener antlr.ParseTreeListener) {
	if listenerT, ok := listener.(RelayListener); ok {
		listenerT.ExitMeta(s)
	}
}

func (p *RelayParser) Meta() (localctx IMetaContext) {
	localctx = NewMetaContext(p, p.GetParserRuleContext(), p.GetState())
	p.EnterRule(localctx, 76, RelayParserRULE_meta)
	var _la int

	p.EnterOuterAlt(localctx, 1)
	{
		p.SetState(505)
		p.Match(RelayParserMETA)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(506)
		p.Match(RelayParserLEFT_BRACKET)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(507)

		var _lt = p.GetTokenStream().LT(1)

		localctx.(*MetaContext).kind = _lt

		_la = p.GetTokenStream().LA(1)

		if !(_la == RelayParserNAME || _la == RelayParserSTRING) {
			var _ri = p.GetErrorHandler().RecoverInline(p)

			localctx.(*MetaContext).kind = _ri
		} else {
			p.GetErrorHandler().ReportMatch(p)
			p.Consume()
		}
	}
	{
		p.SetState(508)
		p.Match(RelayParserRIGHT_BRACKET)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(509)
		p.Match(RelayParserLEFT_BRACKET)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(510)

		var _m = p.Match(RelayParserNUMBER)

		localctx.(*MetaContext).index = _m
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}
	{
		p.SetState(511)
		p.Match(RelayParserRIGHT_BRACKET)
		if p.HasError() {
			// Recognition error - abort rule
			goto errorExit
		}
	}

errorExit:
	if p.HasError() {
		v := p.GetError()
		localctx.SetException(v)
		p.GetErrorHandler().ReportError(p, v)
		p.GetErrorHandler().Recover(p, v)
		p.SetError(nil)
	}
	p.ExitRule()
	return localctx
}
