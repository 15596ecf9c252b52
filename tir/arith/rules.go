package arith

// rule is one law by which an Analyzer rewrites. Every place that rewrites names its rule, so that a test can show that
// each fires and keeps the value.
type rule uint8

// The rules.
const (
	foldVar rule = iota
	foldFact
	collect
	distribute
	orderFactors

	divOne
	modOne
	truncToFloor
	divSmaller
	divZero
	divNegative
	modNegative
	divTakeOut
	divOneValue
	divDiv
	divMod
	divCarryFree
	modReduce
	modModular
	modOneQuotient
	modMod
	modCarryFree
	joinDivMod
	joinModMod
	joinInMod
	joinInDiv
	divMirrored
	modMirrored

	minDecided
	maxDecided
	selectDecided
	selectSame

	castSame
	castWidened
	castInt
	castFloat
	castBroadcast

	compareSame
	compareRanges
	lessDecided
	lessDivided
	lessCarryFree
	lessDiv
	lessNegatedDiv
	equalDecided
	equalModular
	equalDivided

	logicDecided
	logicImplied
	assumedTrue
	assumedFalse
	notConst
	notNot
	notLogic
	notCompare
	notBroadcast

	mulFloatOne
	divFloatOne
	rampStill
	laneAffine
	laneCompare
	laneDiv
	laneMod

	numRules
)

// laws says what each rule does. Small letters are expressions, c, k, m and n constants, g a common divisor.
var laws = [numRules]struct{ name, law string }{
	foldVar:      {"fold-var", "x → c where the range of x is c alone"},
	foldFact:     {"fold-fact", "e → c where what is assumed leaves e one value"},
	collect:      {"collect", "k·x + m·x → (k+m)·x"},
	distribute:   {"distribute", "(x + y)·(z + w) → x·z + x·w + y·z + y·w"},
	orderFactors: {"order-factors", "y·x → x·y, outer variables first"},

	divOne:         {"div-one", "x//1 → x"},
	modOne:         {"mod-one", "x%%1 → 0"},
	truncToFloor:   {"trunc-to-floor", "x/y → x//y and x%y → x%%y where x >= 0 and y > 0"},
	divSmaller:     {"div-smaller", "x//y → 0 and x%%y → x where 0 <= x < y"},
	divZero:        {"div-zero", "0//y → 0 and 0%%y → 0 where y > 0"},
	divNegative:    {"div-negative", "x//-c → (-x)//c"},
	modNegative:    {"mod-negative", "x%%-c → -((-x)%%c)"},
	divTakeOut:     {"div-take-out", "(c·x + y)//c → x + y//c"},
	divOneValue:    {"div-one-value", "x//c → m where the range of x is within [m·c, m·c + c)"},
	divDiv:         {"div-div", "(x//k + n)//c → (x + n·k)//(k·c)"},
	divMod:         {"div-mod", "(x%%k)//c → (x//c)%%(k/c) where c divides k"},
	divCarryFree:   {"div-carry-free", "(g·x + y)//c → x//(c/g) where g divides c and 0 <= y < g"},
	modReduce:      {"mod-reduce", "(k·x + y)%%c → ((k mod c)·x + y)%%c"},
	modModular:     {"mod-modular", "(k·x + y)%%c → (k·b + y)%%c where x is m·n + b and c divides k·m"},
	modOneQuotient: {"mod-one-quotient", "x%%c → x - m·c where the range of x is within [m·c, m·c + c)"},
	modMod:         {"mod-mod", "(k·(x%%m) + y)%%c → (k·x + y)%%c where c divides k·m"},
	modCarryFree:   {"mod-carry-free", "(g·x + y)%%c → g·(x%%(c/g)) + y where g divides c and 0 <= y < g"},
	joinDivMod:     {"join-div-mod", "k·m·(x//m) + k·(x%%m) → k·x"},
	joinModMod:     {"join-mod-mod", "k·m·((x//m)%%n) + k·(x%%m) → k·(x%%(m·n))"},
	joinInMod:      {"join-modulo", "(k·(x%%m) + n·(x//m) + y)%%c → (k·x + y)%%c where c divides n - k·m"},
	joinInDiv:      {"join-in-div", "k·(j·n/m)·(x//n) + k·((j·(x%%n) + y)//m) → k·((j·x + y)//m) where m divides j·n"},
	divMirrored:    {"div-mirrored", "(c - 1 - x)//c → -(x//c)"},
	modMirrored:    {"mod-mirrored", "(c - 1 - x)%%c → c - 1 - x%%c"},

	minDecided:    {"min-decided", "min(x, y) → x where x <= y"},
	maxDecided:    {"max-decided", "max(x, y) → x where x >= y"},
	selectDecided: {"select-decided", "select(true, x, y) → x"},
	selectSame:    {"select-same", "select(p, x, x) → x"},

	castSame:      {"cast-same", "T(x) → x where x is of type T"},
	castWidened:   {"cast-widened", "T(U(x)) → T(x) where U holds every value of the type of x"},
	castInt:       {"cast-int", "T(c) → the integer constant, wrapped"},
	castFloat:     {"cast-float", "float32(c) → the float constant, rounded"},
	castBroadcast: {"cast-broadcast", "T(broadcast(x)) → broadcast(T(x))"},

	compareSame:    {"compare-same", "x < x → false, x == x → true and so on"},
	compareRanges:  {"compare-ranges", "x < y → a constant where the ranges of x and y lie apart, also when they may wrap"},
	lessDecided:    {"less-decided", "x < y → a constant where the range of x - y has one sign"},
	lessDivided:    {"less-divided", "g·x < c → x < ceil(c/g)"},
	lessCarryFree:  {"less-carry-free", "g·x + y < g·c → x < c where 0 <= y < g"},
	lessDiv:        {"less-div", "x//c < y → x < c·y"},
	lessNegatedDiv: {"less-negated-div", "y < x//c → c·y + c - 1 < x"},
	equalDecided:   {"equal-decided", "x == y → a constant where the range of x - y is 0 or without 0"},
	equalModular:   {"equal-modular", "x == y → false where x - y is m·n + b, and m does not divide b"},
	equalDivided:   {"equal-divided", "g·x == g·y → x == y"},

	logicDecided: {"logic-decided", "true and p → p, false or p → p and so on"},
	logicImplied: {"logic-implied", "p and q → q where q implies p; p or q → q where p implies q"},
	assumedTrue:  {"assumed-true", "p → true where p was assumed"},
	assumedFalse: {"assumed-false", "p → false where not p was assumed"},
	notConst:     {"not-const", "not true → false"},
	notNot:       {"not-not", "not not p → p"},
	notLogic:     {"not-logic", "not (p and q) → not p or not q"},
	notCompare:   {"not-compare", "not (x < y) → y <= x"},
	notBroadcast: {"not-broadcast", "not broadcast(p) → broadcast(not p)"},

	mulFloatOne: {"mul-float-one", "x·1.0 → x"},
	divFloatOne: {"div-float-one", "x/1.0 → x"},
	rampStill:   {"ramp-still", "ramp(x, 0) → broadcast(x)"},
	laneAffine:  {"lane-affine", "ramp(x, k) + broadcast(y) → ramp(x + y, k) and so on"},
	laneCompare: {"lane-compare", "ramp(x, k) < ramp(y, m) → broadcast(x < y) where all lanes agree"},
	laneDiv:     {"lane-div", "ramp(x, k)//c → ramp(x//c, k/c) where c divides k, broadcast(x//c) where no lane carries"},
	laneMod:     {"lane-mod", "ramp(x, k)%%c → broadcast(x%%c) where c divides k, ramp(x%%c, k) where no lane carries"},
}

// String returns the rule's name.
func (r rule) String() string { return laws[r].name }

// hit counts that r rewrote something.
func (a *Analyzer) hit(r rule) { a.fired[r]++ }
