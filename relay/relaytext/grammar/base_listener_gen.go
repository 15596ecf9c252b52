// Code generated from Relay.g4 by ANTLR 4.13.1. DO NOT EDIT.

package grammar // Relay
import "github.com/antlr4-go/antlr/v4"

// BaseRelayListener is a complete listener for a parse tree produced by RelayParser.
type BaseRelayListener struct{}

var _ RelayListener = &BaseRelayListener{}

// VisitTerminal is called when a terminal node is visited.
func (s *BaseRelayListener) VisitTerminal(node antlr.TerminalNode) {}

// VisitErrorNode is called when an error node is visited.
func (s *BaseRelayListener) VisitErrorNode(node antlr.ErrorNode) {}

// EnterEveryRule is called when any rule is entered.
func (s *BaseRelayListener) EnterEveryRule(ctx antlr.ParserRuleContext) {}

// ExitEveryRule is called when any rule is exited.
func (s *BaseRelayListener) ExitEveryRule(ctx antlr.ParserRuleContext) {}

// EnterModule is called when production module is entered.
func (s *BaseRelayListener) EnterModule(ctx *ModuleContext) {}

// ExitModule is called when production module is exited.
func (s *BaseRelayListener) ExitModule(ctx *ModuleContext) {}

// EnterItem is called when production item is entered.
func (s *BaseRelayListener) EnterItem(ctx *ItemContext) {}

// ExitItem is called when production item is exited.
func (s *BaseRelayListener) ExitItem(ctx *ItemContext) {}

// EnterDefinition is called when production definition is entered.
func (s *BaseRelayListener) EnterDefinition(ctx *DefinitionContext) {}

// ExitDefinition is called when production definition is exited.
func (s *BaseRelayListener) ExitDefinition(ctx *DefinitionContext) {}

// EnterTypeDefinition is called when production typeDefinition is entered.
func (s *BaseRelayListener) EnterTypeDefinition(ctx *TypeDefinitionContext) {}

// ExitTypeDefinition is called when production typeDefinition is exited.
func (s *BaseRelayListener) ExitTypeDefinition(ctx *TypeDefinitionContext) {}

// EnterConstructor is called when production constructor is entered.
func (s *BaseRelayListener) EnterConstructor(ctx *ConstructorContext) {}

// ExitConstructor is called when production constructor is exited.
func (s *BaseRelayListener) ExitConstructor(ctx *ConstructorContext) {}

// EnterExternType is called when production externType is entered.
func (s *BaseRelayListener) EnterExternType(ctx *ExternTypeContext) {}

// ExitExternType is called when production externType is exited.
func (s *BaseRelayListener) ExitExternType(ctx *ExternTypeContext) {}

// EnterTypeParameters is called when production typeParameters is entered.
func (s *BaseRelayListener) EnterTypeParameters(ctx *TypeParametersContext) {}

// ExitTypeParameters is called when production typeParameters is exited.
func (s *BaseRelayListener) ExitTypeParameters(ctx *TypeParametersContext) {}

// EnterSignature is called when production signature is entered.
func (s *BaseRelayListener) EnterSignature(ctx *SignatureContext) {}

// ExitSignature is called when production signature is exited.
func (s *BaseRelayListener) ExitSignature(ctx *SignatureContext) {}

// EnterParameter is called when production parameter is entered.
func (s *BaseRelayListener) EnterParameter(ctx *ParameterContext) {}

// ExitParameter is called when production parameter is exited.
func (s *BaseRelayListener) ExitParameter(ctx *ParameterContext) {}

// EnterVariable is called when production variable is entered.
func (s *BaseRelayListener) EnterVariable(ctx *VariableContext) {}

// ExitVariable is called when production variable is exited.
func (s *BaseRelayListener) ExitVariable(ctx *VariableContext) {}

// EnterBlock is called when production block is entered.
func (s *BaseRelayListener) EnterBlock(ctx *BlockContext) {}

// ExitBlock is called when production block is exited.
func (s *BaseRelayListener) ExitBlock(ctx *BlockContext) {}

// EnterBody is called when production body is entered.
func (s *BaseRelayListener) EnterBody(ctx *BodyContext) {}

// ExitBody is called when production body is exited.
func (s *BaseRelayListener) ExitBody(ctx *BodyContext) {}

// EnterLet is called when production let is entered.
func (s *BaseRelayListener) EnterLet(ctx *LetContext) {}

// ExitLet is called when production let is exited.
func (s *BaseRelayListener) ExitLet(ctx *LetContext) {}

// EnterBinding is called when production binding is entered.
func (s *BaseRelayListener) EnterBinding(ctx *BindingContext) {}

// ExitBinding is called when production binding is exited.
func (s *BaseRelayListener) ExitBinding(ctx *BindingContext) {}

// EnterFreeVariable is called when production freeVariable is entered.
func (s *BaseRelayListener) EnterFreeVariable(ctx *FreeVariableContext) {}

// ExitFreeVariable is called when production freeVariable is exited.
func (s *BaseRelayListener) ExitFreeVariable(ctx *FreeVariableContext) {}

// EnterExpression is called when production expression is entered.
func (s *BaseRelayListener) EnterExpression(ctx *ExpressionContext) {}

// ExitExpression is called when production expression is exited.
func (s *BaseRelayListener) ExitExpression(ctx *ExpressionContext) {}

// EnterRelation is called when production relation is entered.
func (s *BaseRelayListener) EnterRelation(ctx *RelationContext) {}

// ExitRelation is called when production relation is exited.
func (s *BaseRelayListener) ExitRelation(ctx *RelationContext) {}

// EnterSum is called when production sum is entered.
func (s *BaseRelayListener) EnterSum(ctx *SumContext) {}

// ExitSum is called when production sum is exited.
func (s *BaseRelayListener) ExitSum(ctx *SumContext) {}

// EnterProduct is called when production product is entered.
func (s *BaseRelayListener) EnterProduct(ctx *ProductContext) {}

// ExitProduct is called when production product is exited.
func (s *BaseRelayListener) ExitProduct(ctx *ProductContext) {}

// EnterPostfix is called when production postfix is entered.
func (s *BaseRelayListener) EnterPostfix(ctx *PostfixContext) {}

// ExitPostfix is called when production postfix is exited.
func (s *BaseRelayListener) ExitPostfix(ctx *PostfixContext) {}

// EnterArguments is called when production arguments is entered.
func (s *BaseRelayListener) EnterArguments(ctx *ArgumentsContext) {}

// ExitArguments is called when production arguments is exited.
func (s *BaseRelayListener) ExitArguments(ctx *ArgumentsContext) {}

// EnterArgument is called when production argument is entered.
func (s *BaseRelayListener) EnterArgument(ctx *ArgumentContext) {}

// ExitArgument is called when production argument is exited.
func (s *BaseRelayListener) ExitArgument(ctx *ArgumentContext) {}

// EnterProjection is called when production projection is entered.
func (s *BaseRelayListener) EnterProjection(ctx *ProjectionContext) {}

// ExitProjection is called when production projection is exited.
func (s *BaseRelayListener) ExitProjection(ctx *ProjectionContext) {}

// EnterLocal is called when production local is entered.
func (s *BaseRelayListener) EnterLocal(ctx *LocalContext) {}

// ExitLocal is called when production local is exited.
func (s *BaseRelayListener) ExitLocal(ctx *LocalContext) {}

// EnterGlobal is called when production global is entered.
func (s *BaseRelayListener) EnterGlobal(ctx *GlobalContext) {}

// ExitGlobal is called when production global is exited.
func (s *BaseRelayListener) ExitGlobal(ctx *GlobalContext) {}

// EnterOperator is called when production operator is entered.
func (s *BaseRelayListener) EnterOperator(ctx *OperatorContext) {}

// ExitOperator is called when production operator is exited.
func (s *BaseRelayListener) ExitOperator(ctx *OperatorContext) {}

// EnterScalar is called when production scalar is entered.
func (s *BaseRelayListener) EnterScalar(ctx *ScalarContext) {}

// ExitScalar is called when production scalar is exited.
func (s *BaseRelayListener) ExitScalar(ctx *ScalarContext) {}

// EnterTruth is called when production truth is entered.
func (s *BaseRelayListener) EnterTruth(ctx *TruthContext) {}

// ExitTruth is called when production truth is exited.
func (s *BaseRelayListener) ExitTruth(ctx *TruthContext) {}

// EnterConstant is called when production constant is entered.
func (s *BaseRelayListener) EnterConstant(ctx *ConstantContext) {}

// ExitConstant is called when production constant is exited.
func (s *BaseRelayListener) ExitConstant(ctx *ConstantContext) {}

// EnterParentheses is called when production parentheses is entered.
func (s *BaseRelayListener) EnterParentheses(ctx *ParenthesesContext) {}

// ExitParentheses is called when production parentheses is exited.
func (s *BaseRelayListener) ExitParentheses(ctx *ParenthesesContext) {}

// EnterClosure is called when production closure is entered.
func (s *BaseRelayListener) EnterClosure(ctx *ClosureContext) {}

// ExitClosure is called when production closure is exited.
func (s *BaseRelayListener) ExitClosure(ctx *ClosureContext) {}

// EnterIf is called when production if is entered.
func (s *BaseRelayListener) EnterIf(ctx *IfContext) {}

// ExitIf is called when production if is exited.
func (s *BaseRelayListener) ExitIf(ctx *IfContext) {}

// EnterMatch is called when production match is entered.
func (s *BaseRelayListener) EnterMatch(ctx *MatchContext) {}

// ExitMatch is called when production match is exited.
func (s *BaseRelayListener) ExitMatch(ctx *MatchContext) {}

// EnterScope is called when production scope is entered.
func (s *BaseRelayListener) EnterScope(ctx *ScopeContext) {}

// ExitScope is called when production scope is exited.
func (s *BaseRelayListener) ExitScope(ctx *ScopeContext) {}

// EnterReference is called when production reference is entered.
func (s *BaseRelayListener) EnterReference(ctx *ReferenceContext) {}

// ExitReference is called when production reference is exited.
func (s *BaseRelayListener) ExitReference(ctx *ReferenceContext) {}

// EnterElements is called when production elements is entered.
func (s *BaseRelayListener) EnterElements(ctx *ElementsContext) {}

// ExitElements is called when production elements is exited.
func (s *BaseRelayListener) ExitElements(ctx *ElementsContext) {}

// EnterFunction is called when production function is entered.
func (s *BaseRelayListener) EnterFunction(ctx *FunctionContext) {}

// ExitFunction is called when production function is exited.
func (s *BaseRelayListener) ExitFunction(ctx *FunctionContext) {}

// EnterScrutinee is called when production scrutinee is entered.
func (s *BaseRelayListener) EnterScrutinee(ctx *ScrutineeContext) {}

// ExitScrutinee is called when production scrutinee is exited.
func (s *BaseRelayListener) ExitScrutinee(ctx *ScrutineeContext) {}

// EnterClause is called when production clause is entered.
func (s *BaseRelayListener) EnterClause(ctx *ClauseContext) {}

// ExitClause is called when production clause is exited.
func (s *BaseRelayListener) ExitClause(ctx *ClauseContext) {}

// EnterCase is called when production case is entered.
func (s *BaseRelayListener) EnterCase(ctx *CaseContext) {}

// ExitCase is called when production case is exited.
func (s *BaseRelayListener) ExitCase(ctx *CaseContext) {}

// EnterVariablePattern is called when production variablePattern is entered.
func (s *BaseRelayListener) EnterVariablePattern(ctx *VariablePatternContext) {}

// ExitVariablePattern is called when production variablePattern is exited.
func (s *BaseRelayListener) ExitVariablePattern(ctx *VariablePatternContext) {}

// EnterConstructorPattern is called when production constructorPattern is entered.
func (s *BaseRelayListener) EnterConstructorPattern(ctx *ConstructorPatternContext) {}

// ExitConstructorPattern is called when production constructorPattern is exited.
func (s *BaseRelayListener) ExitConstructorPattern(ctx *ConstructorPatternContext) {}

// EnterTuplePattern is called when production tuplePattern is entered.
func (s *BaseRelayListener) EnterTuplePattern(ctx *TuplePatternContext) {}

// ExitTuplePattern is called when production tuplePattern is exited.
func (s *BaseRelayListener) ExitTuplePattern(ctx *TuplePatternContext) {}

// EnterPatterns is called when production patterns is entered.
func (s *BaseRelayListener) EnterPatterns(ctx *PatternsContext) {}

// ExitPatterns is called when production patterns is exited.
func (s *BaseRelayListener) ExitPatterns(ctx *PatternsContext) {}

// EnterTensorType is called when production tensorType is entered.
func (s *BaseRelayListener) EnterTensorType(ctx *TensorTypeContext) {}

// ExitTensorType is called when production tensorType is exited.
func (s *BaseRelayListener) ExitTensorType(ctx *TensorTypeContext) {}

// EnterNamedType is called when production namedType is entered.
func (s *BaseRelayListener) EnterNamedType(ctx *NamedTypeContext) {}

// ExitNamedType is called when production namedType is exited.
func (s *BaseRelayListener) ExitNamedType(ctx *NamedTypeContext) {}

// EnterTupleType is called when production tupleType is entered.
func (s *BaseRelayListener) EnterTupleType(ctx *TupleTypeContext) {}

// ExitTupleType is called when production tupleType is exited.
func (s *BaseRelayListener) ExitTupleType(ctx *TupleTypeContext) {}

// EnterFunctionType is called when production functionType is entered.
func (s *BaseRelayListener) EnterFunctionType(ctx *FunctionTypeContext) {}

// ExitFunctionType is called when production functionType is exited.
func (s *BaseRelayListener) ExitFunctionType(ctx *FunctionTypeContext) {}

// EnterReferenceType is called when production referenceType is entered.
func (s *BaseRelayListener) EnterReferenceType(ctx *ReferenceTypeContext) {}

// ExitReferenceType is called when production referenceType is exited.
func (s *BaseRelayListener) ExitReferenceType(ctx *ReferenceTypeContext) {}

// EnterTypes is called when production types is entered.
func (s *BaseRelayListener) EnterTypes(ctx *TypesContext) {}

// ExitTypes is called when production types is exited.
func (s *BaseRelayListener) ExitTypes(ctx *TypesContext) {}

// EnterShape is called when production shape is entered.
func (s *BaseRelayListener) EnterShape(ctx *ShapeContext) {}

// ExitShape is called when production shape is exited.
func (s *BaseRelayListener) ExitShape(ctx *ShapeContext) {}

// EnterDimension is called when production dimension is entered.
func (s *BaseRelayListener) EnterDimension(ctx *DimensionContext) {}

// ExitDimension is called when production dimension is exited.
func (s *BaseRelayListener) ExitDimension(ctx *DimensionContext) {}

// EnterAttribute is called when production attribute is entered.
func (s *BaseRelayListener) EnterAttribute(ctx *AttributeContext) {}

// ExitAttribute is called when production attribute is exited.
func (s *BaseRelayListener) ExitAttribute(ctx *AttributeContext) {}

// EnterName is called when production name is entered.
func (s *BaseRelayListener) EnterName(ctx *NameContext) {}

// ExitName is called when production name is exited.
func (s *BaseRelayListener) ExitName(ctx *NameContext) {}

// EnterNumberValue is called when production numberValue is entered.
func (s *BaseRelayListener) EnterNumberValue(ctx *NumberValueContext) {}

// ExitNumberValue is called when production numberValue is exited.
func (s *BaseRelayListener) ExitNumberValue(ctx *NumberValueContext) {}

// EnterTextValue is called when production textValue is entered.
func (s *BaseRelayListener) EnterTextValue(ctx *TextValueContext) {}

// ExitTextValue is called when production textValue is exited.
func (s *BaseRelayListener) ExitTextValue(ctx *TextValueContext) {}

// EnterTruthValue is called when production truthValue is entered.
func (s *BaseRelayListener) EnterTruthValue(ctx *TruthValueContext) {}

// ExitTruthValue is called when production truthValue is exited.
func (s *BaseRelayListener) ExitTruthValue(ctx *TruthValueContext) {}

// EnterNameValue is called when production nameValue is entered.
func (s *BaseRelayListener) EnterNameValue(ctx *NameValueContext) {}

// ExitNameValue is called when production nameValue is exited.
func (s *BaseRelayListener) ExitNameValue(ctx *NameValueContext) {}

// EnterMetaValue is called when production metaValue is entered.
func (s *BaseRelayListener) EnterMetaValue(ctx *MetaValueContext) {}

// ExitMetaValue is called when production metaValue is exited.
func (s *BaseRelayListener) ExitMetaValue(ctx *MetaValueContext) {}

// EnterListValue is called when production listValue is entered.
func (s *BaseRelayListener) EnterListValue(ctx *ListValueContext) {}

// ExitListValue is called when production listValue is exited.
func (s *BaseRelayListener) ExitListValue(ctx *ListValueContext) {}

// EnterValues is called when production values is entered.
func (s *BaseRelayListener) EnterValues(ctx *ValuesContext) {}

// ExitValues is called when production values is exited.
func (s *BaseRelayListener) ExitValues(ctx *ValuesContext) {}

// EnterNumber is called when production number is entered.
func (s *BaseRelayListener) EnterNumber(ctx *NumberContext) {}

// ExitNumber is called when production number is exited.
func (s *BaseRelayListener) ExitNumber(ctx *NumberContext) {}

// EnterMeta is called when production meta is entered.
func (s *BaseRelayListener) EnterMeta(ctx *MetaContext) {}

// ExitMeta is called when production meta is exited.
func (s *BaseRelayListener) ExitMeta(ctx *MetaContext) {}
