// Relay's text form, as Texel reads it. docs/relay.md describes the language in prose.
//
// The reader drives the rules item and body one after the other and builds the graph where rules end, so that no tree of
// a text is ever kept. Two tokens decide each alternative. Tokens have labels because the reader sees nothing else.
grammar Relay;

// A text is a module of definitions, or a lone expression.
module : VERSION? (item* | body) (METADATA | EOF) ;

item : definition | typeDefinition | externType ;

definition : 'def' global=GLOBAL (typeParameters? signature block | '=' meta) ;

typeDefinition : 'type' defined=NAME typeParameters? '{' (constructor (',' constructor)* ','?)? '}' ;

constructor : NAME (bracket='(' types ')')? ;

externType : 'extern' 'type' defined=NAME typeParameters? ';'? ;

typeParameters : '[' names+=NAME (',' names+=NAME)* ']' ;

// (%x: T, Primitive=1) -> R
signature : '(' (parameter (',' parameter)*)? ')' ('->' type)? ;

parameter : variable | attribute ;

// %x {virtual_device=meta[VirtualDevice][0]}: T
variable : local=LOCAL ('{' attribute (',' attribute)* '}')? (':' type)? ;

block : '{' body '}' ;

body : statement* expression ;

statement
    : 'let' variable '=' expression ';'     # let
    | local=LOCAL '=' expression ';'        # binding
    | 'free_var' variable ';'               # freeVariable
    ;

// Operators of one level join from the left.
expression : relation (operators+=('==' | '!=') relation)* ;

relation : sum (operators+=('<' | '<=' | '>' | '>=') sum)* ;

sum : product (operators+=('+' | '-') product)* ;

product : postfix (operators+=('*' | '/') postfix)* ;

postfix : atom (arguments | projection)* ;

arguments : '(' (argument (',' argument)*)? ')' ;

argument : attribute | expression ;

projection : field=FIELD ;

atom
    : local=LOCAL                                                             # local
    | global=GLOBAL                                                           # global
    | called=NAME                                                             # operator
    | number                                                                  # scalar
    | truth=('True' | 'False')                                                # truth
    | meta                                                                    # constant
    | '(' elements ')'                                                        # parentheses
    | function                                                                # closure
    | 'if' '(' expression ')' block 'else' block                              # if
    | 'match' '?'? '(' scrutinee ')' '{' (clause (',' clause)* ','?)? '}'     # match
    | block                                                                   # scope
    | word=('ref' | 'ref_read' | 'ref_write') '(' elements ')'                # reference
    ;

// A tuple, or one expression with statements before it.
elements : statement* (expression (',' expression)* last=','?)? ;

function : 'fn' typeParameters? signature block ;

scrutinee : expression ;

clause : case '=>' expression ;

case : pattern ;

pattern
    : variable                             # variablePattern
    | called=NAME (bracket='(' patterns ')')?      # constructorPattern
    | '(' patterns ')'                     # tuplePattern
    ;

patterns : (pattern (',' pattern)* ','?)? ;

type
    : 'Tensor' '[' shape ',' element=NAME ']'                  # tensorType
    | named=NAME (bracket='[' types ']')?                      # namedType
    | '(' types ')'                                            # tupleType
    | 'fn' typeParameters? '(' types ')' '->' type             # functionType
    | 'ref' '(' type ')'                                       # referenceType
    ;

types : (type (',' type)* last=','?)? ;

shape : '(' (dimension (',' dimension)* ','?)? ')' ;

dimension : minus='-'? extent=NUMBER | extent='?' | extent=NAME ;

attribute : name '=' value ;

// An attribute may be named as a word of the language.
name : NAME | 'type' | 'extern' | 'def' | 'match' | 'ref' | 'meta' | 'fn' | 'let' | 'if' | 'else' ;

value
    : number                      # numberValue
    | quoted=STRING               # textValue
    | truth=('True' | 'False')    # truthValue
    | named=NAME                  # nameValue
    | meta                        # metaValue
    | '[' values ']'              # listValue
    | '(' values ')'              # listValue
    ;

values : (value (',' value)* ','?)? ;

number : minus='-'? digits=NUMBER ;

meta : 'meta' '[' kind=(NAME | STRING) ']' '[' index=NUMBER ']' ;

LEFT_PAREN : '(' ;
RIGHT_PAREN : ')' ;
LEFT_BRACE : '{' ;
RIGHT_BRACE : '}' ;
LEFT_BRACKET : '[' ;
RIGHT_BRACKET : ']' ;
COMMA : ',' ;
SEMICOLON : ';' ;
COLON : ':' ;
ASSIGN : '=' ;
ARROW : '->' ;
CASE_ARROW : '=>' ;
QUESTION : '?' ;
EQUAL : '==' ;
NOT_EQUAL : '!=' ;
LESS : '<' ;
LESS_EQUAL : '<=' ;
GREATER : '>' ;
GREATER_EQUAL : '>=' ;
PLUS : '+' ;
MINUS : '-' ;
TIMES : '*' ;
DIVIDE : '/' ;

LET : 'let' ;
FN : 'fn' ;
DEF : 'def' ;
IF : 'if' ;
ELSE : 'else' ;
MATCH : 'match' ;
TYPE : 'type' ;
EXTERN : 'extern' ;
FREE_VAR : 'free_var' ;
REF : 'ref' ;
REF_READ : 'ref_read' ;
REF_WRITE : 'ref_write' ;
TRUE : 'True' ;
FALSE : 'False' ;
META : 'meta' ;
TENSOR : 'Tensor' ;

VERSION : '#[' SPACE* 'version' SPACE* '=' SPACE* '"' ~["\r\n]* '"' SPACE* ']' ;
METADATA : '#[' SPACE* 'metadata' SPACE* ']' ;

NUMBER : DIGIT+ ('.' DIGIT*)? ([eE] [+-]? DIGIT+)? SUFFIX? | ('inf' | 'nan') 'b'? 'f' DIGIT* ;

GLOBAL : '@' (LETTER (LETTER | DIGIT | [./])* | STRING) ;

// %x, %conv1.weight, %0; %0.1 is a field of %0 where nothing has that name.
LOCAL : '%' (LETTER | DIGIT) (LETTER | DIGIT | [./] (LETTER | DIGIT) | ':' DIGIT)* ;

NAME : LETTER (LETTER | DIGIT)* ('.' LETTER (LETTER | DIGIT)*)* ;

FIELD : '.' DIGIT+ ;

STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;

SPACES : SPACE+ -> skip ;
LINE_COMMENT : '//' ~[\r\n]* -> skip ;
COMMENT : '/*' (~[*/] | '/'* COMMENT | '/'+ ~[*/] | '*'+ ~[*/])* '*'+ '/' -> skip ; // comments nest

// What is no token of the language, so that the reader can say where it is.
OPEN_COMMENT : '/*' ;
OPEN_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* ;
UNKNOWN : . ;

fragment SPACE : [ \t\r\n] ;
fragment DIGIT : [0-9] ;
fragment LETTER : [a-zA-Z_\u0080-\u00ff] ;
fragment SUFFIX : [a-z] [a-z0-9]* ;
