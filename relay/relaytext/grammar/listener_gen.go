// Code generated from Relay.g4 by ANTLR 4.13.1. DO NOT EDIT.

package grammar // Relay
import "github.com/antlr4-go/antlr/v4"

// RelayListener is a complete listener for a parse tree produced by RelayParser.
type RelayListener interface {
	antlr.ParseTreeListener

	// EnterModule is called when entering the module production.
	EnterModule(c *ModuleContext)

	// EnterItem is called when entering the item production.
	EnterItem(c *ItemContext)

	// EnterDefinition is called when entering the definition production.
	EnterDefinition(c *DefinitionContext)

	// EnterTypeDefinition is called when entering the typeDefinition production.
	EnterTypeDefinition(c *TypeDefinitionContext)

	// EnterConstructor is called when entering the constructor production.
	EnterConstructor(c *ConstructorContext)

	// EnterExternType is called when entering the externType production.
	EnterExternType(c *ExternTypeContext)

	// EnterTypeParameters is called when entering the typeParameters production.
	EnterTypeParameters(c *TypeParametersContext)

	// EnterSignature is called when entering the signature production.
	EnterSignature(c *SignatureContext)

	// EnterParameter is called when entering the parameter production.
	EnterParameter(c *ParameterContext)

	// EnterVariable is called when entering the variable production.
	EnterVariable(c *VariableContext)

	// EnterBlock is called when entering the block production.
	EnterBlock(c *BlockContext)

	// EnterBody is called when entering the body production.
	EnterBody(c *BodyContext)

	// EnterLet is called when entering the let production.
	EnterLet(c *LetContext)

	// EnterBinding is called when entering the binding production.
	EnterBinding(c *BindingContext)

	// EnterFreeVariable is called when entering the freeVariable production.
	EnterFreeVariable(c *FreeVariableContext)

	// EnterExpression is called when entering the expression production.
	EnterExpression(c *ExpressionContext)

	// EnterRelation is called when entering the relation production.
	EnterRelation(c *RelationContext)

	// EnterSum is called when entering the sum production.
	EnterSum(c *SumContext)

	// EnterProduct is called when entering the product production.
	EnterProduct(c *ProductContext)

	// EnterPostfix is called when entering the postfix production.
	EnterPostfix(c *PostfixContext)

	// EnterArguments is called when entering the arguments production.
	EnterArguments(c *ArgumentsContext)

	// EnterArgument is called when entering the argument production.
	EnterArgument(c *ArgumentContext)

	// EnterProjection is called when entering the projection production.
	EnterProjection(c *ProjectionContext)

	// EnterLocal is called when entering the local production.
	EnterLocal(c *LocalContext)

	// EnterGlobal is called when entering the global production.
	EnterGlobal(c *GlobalContext)

	// EnterOperator is called when entering the operator production.
	EnterOperator(c *OperatorContext)

	// EnterScalar is called when entering the scalar production.
	EnterScalar(c *ScalarContext)

	// EnterTruth is called when entering the truth production.
	EnterTruth(c *TruthContext)

	// EnterConstant is called when entering the constant production.
	EnterConstant(c *ConstantContext)

	// EnterParentheses is called when entering the parentheses production.
	EnterParentheses(c *ParenthesesContext)

	// EnterClosure is called when entering the closure production.
	EnterClosure(c *ClosureContext)

	// EnterIf is called when entering the if production.
	EnterIf(c *IfContext)

	// EnterMatch is called when entering the match production.
	EnterMatch(c *MatchContext)

	// EnterScope is called when entering the scope production.
	EnterScope(c *ScopeContext)

	// EnterReference is called when entering the reference production.
	EnterReference(c *ReferenceContext)

	// EnterElements is called when entering the elements production.
	EnterElements(c *ElementsContext)

	// EnterFunction is called when entering the function production.
	EnterFunction(c *FunctionContext)

	// EnterScrutinee is called when entering the scrutinee production.
	EnterScrutinee(c *ScrutineeContext)

	// EnterClause is called when entering the clause production.
	EnterClause(c *ClauseContext)

	// EnterCase is called when entering the case production.
	EnterCase(c *CaseContext)

	// EnterVariablePattern is called when entering the variablePattern production.
	EnterVariablePattern(c *VariablePatternContext)

	// EnterConstructorPattern is called when entering the constructorPattern production.
	EnterConstructorPattern(c *ConstructorPatternContext)

	// EnterTuplePattern is called when entering the tuplePattern production.
	EnterTuplePattern(c *TuplePatternContext)

	// EnterPatterns is called when entering the patterns production.
	EnterPatterns(c *PatternsContext)

	// EnterTensorType is called when entering the tensorType production.
	EnterTensorType(c *TensorTypeContext)

	// EnterNamedType is called when entering the namedType production.
	EnterNamedType(c *NamedTypeContext)

	// EnterTupleType is called when entering the tupleType production.
	EnterTupleType(c *TupleTypeContext)

	// EnterFunctionType is called when entering the functionType production.
	EnterFunctionType(c *FunctionTypeContext)

	// EnterReferenceType is called when entering the referenceType production.
	EnterReferenceType(c *ReferenceTypeContext)

	// EnterTypes is called when entering the types production.
	EnterTypes(c *TypesContext)

	// EnterShape is called when entering the shape production.
	EnterShape(c *ShapeContext)

	// EnterDimension is called when entering the dimension production.
	EnterDimension(c *DimensionContext)

	// EnterAttribute is called when entering the attribute production.
	EnterAttribute(c *AttributeContext)

	// EnterName is called when entering the name production.
	EnterName(c *NameContext)

	// EnterNumberValue is called when entering the numberValue production.
	EnterNumberValue(c *NumberValueContext)

	// EnterTextValue is called when entering the textValue production.
	EnterTextValue(c *TextValueContext)

	// EnterTruthValue is called when entering the truthValue production.
	EnterTruthValue(c *TruthValueContext)

	// EnterNameValue is called when entering the nameValue production.
	EnterNameValue(c *NameValueContext)

	// EnterMetaValue is called when entering the metaValue production.
	EnterMetaValue(c *MetaValueContext)

	// EnterListValue is called when entering the listValue production.
	EnterListValue(c *ListValueContext)

	// EnterValues is called when entering the values production.
	EnterValues(c *ValuesContext)

	// EnterNumber is called when entering the number production.
	EnterNumber(c *NumberContext)

	// EnterMeta is called when entering the meta production.
	EnterMeta(c *MetaContext)

	// ExitModule is called when exiting the module production.
	ExitModule(c *ModuleContext)

	// ExitItem is called when exiting the item production.
	ExitItem(c *ItemContext)

	// ExitDefinition is called when exiting the definition production.
	ExitDefinition(c *DefinitionContext)

	// ExitTypeDefinition is called when exiting the typeDefinition production.
	ExitTypeDefinition(c *TypeDefinitionContext)

	// ExitConstructor is called when exiting the constructor production.
	ExitConstructor(c *ConstructorContext)

	// ExitExternType is called when exiting the externType production.
	ExitExternType(c *ExternTypeContext)

	// ExitTypeParameters is called when exiting the typeParameters production.
	ExitTypeParameters(c *TypeParametersContext)

	// ExitSignature is called when exiting the signature production.
	ExitSignature(c *SignatureContext)

	// ExitParameter is called when exiting the parameter production.
	ExitParameter(c *ParameterContext)

	// ExitVariable is called when exiting the variable production.
	ExitVariable(c *VariableContext)

	// ExitBlock is called when exiting the block production.
	ExitBlock(c *BlockContext)

	// ExitBody is called when exiting the body production.
	ExitBody(c *BodyContext)

	// ExitLet is called when exiting the let production.
	ExitLet(c *LetContext)

	// ExitBinding is called when exiting the binding production.
	ExitBinding(c *BindingContext)

	// ExitFreeVariable is called when exiting the freeVariable production.
	ExitFreeVariable(c *FreeVariableContext)

	// ExitExpression is called when exiting the expression production.
	ExitExpression(c *ExpressionContext)

	// ExitRelation is called when exiting the relation production.
	ExitRelation(c *RelationContext)

	// ExitSum is called when exiting the sum production.
	ExitSum(c *SumContext)

	// ExitProduct is called when exiting the product production.
	ExitProduct(c *ProductContext)

	// ExitPostfix is called when exiting the postfix production.
	ExitPostfix(c *PostfixContext)

	// ExitArguments is called when exiting the arguments production.
	ExitArguments(c *ArgumentsContext)

	// ExitArgument is called when exiting the argument production.
	ExitArgument(c *ArgumentContext)

	// ExitProjection is called when exiting the projection production.
	ExitProjection(c *ProjectionContext)

	// ExitLocal is called when exiting the local production.
	ExitLocal(c *LocalContext)

	// ExitGlobal is called when exiting the global production.
	ExitGlobal(c *GlobalContext)

	// ExitOperator is called when exiting the operator production.
	ExitOperator(c *OperatorContext)

	// ExitScalar is called when exiting the scalar production.
	ExitScalar(c *ScalarContext)

	// ExitTruth is called when exiting the truth production.
	ExitTruth(c *TruthContext)

	// ExitConstant is called when exiting the constant production.
	ExitConstant(c *ConstantContext)

	// ExitParentheses is called when exiting the parentheses production.
	ExitParentheses(c *ParenthesesContext)

	// ExitClosure is called when exiting the closure production.
	ExitClosure(c *ClosureContext)

	// ExitIf is called when exiting the if production.
	ExitIf(c *IfContext)

	// ExitMatch is called when exiting the match production.
	ExitMatch(c *MatchContext)

	// ExitScope is called when exiting the scope production.
	ExitScope(c *ScopeContext)

	// ExitReference is called when exiting the reference production.
	ExitReference(c *ReferenceContext)

	// ExitElements is called when exiting the elements production.
	ExitElements(c *ElementsContext)

	// ExitFunction is called when exiting the function production.
	ExitFunction(c *FunctionContext)

	// ExitScrutinee is called when exiting the scrutinee production.
	ExitScrutinee(c *ScrutineeContext)

	// ExitClause is called when exiting the clause production.
	ExitClause(c *ClauseContext)

	// ExitCase is called when exiting the case production.
	ExitCase(c *CaseContext)

	// ExitVariablePattern is called when exiting the variablePattern production.
	ExitVariablePattern(c *VariablePatternContext)

	// ExitConstructorPattern is called when exiting the constructorPattern production.
	ExitConstructorPattern(c *ConstructorPatternContext)

	// ExitTuplePattern is called when exiting the tuplePattern production.
	ExitTuplePattern(c *TuplePatternContext)

	// ExitPatterns is called when exiting the patterns production.
	ExitPatterns(c *PatternsContext)

	// ExitTensorType is called when exiting the tensorType production.
	ExitTensorType(c *TensorTypeContext)

	// ExitNamedType is called when exiting the namedType production.
	ExitNamedType(c *NamedTypeContext)

	// ExitTupleType is called when exiting the tupleType production.
	ExitTupleType(c *TupleTypeContext)

	// ExitFunctionType is called when exiting the functionType production.
	ExitFunctionType(c *FunctionTypeContext)

	// ExitReferenceType is called when exiting the referenceType production.
	ExitReferenceType(c *ReferenceTypeContext)

	// ExitTypes is called when exiting the types production.
	ExitTypes(c *TypesContext)

	// ExitShape is called when exiting the shape production.
	ExitShape(c *ShapeContext)

	// ExitDimension is called when exiting the dimension production.
	ExitDimension(c *DimensionContext)

	// ExitAttribute is called when exiting the attribute production.
	ExitAttribute(c *AttributeContext)

	// ExitName is called when exiting the name production.
	ExitName(c *NameContext)

	// ExitNumberValue is called when exiting the numberValue production.
	ExitNumberValue(c *NumberValueContext)

	// ExitTextValue is called when exiting the textValue production.
	ExitTextValue(c *TextValueContext)

	// ExitTruthValue is called when exiting the truthValue production.
	ExitTruthValue(c *TruthValueContext)

	// ExitNameValue is called when exiting the nameValue production.
	ExitNameValue(c *NameValueContext)

	// ExitMetaValue is called when exiting the metaValue production.
	ExitMetaValue(c *MetaValueContext)

	// ExitListValue is called when exiting the listValue production.
	ExitListValue(c *ListValueContext)

	// ExitValues is called when exiting the values production.
	ExitValues(c *ValuesContext)

	// ExitNumber is called when exiting the number production.
	ExitNumber(c *NumberContext)

	// ExitMeta is called when exiting the meta production.
	ExitMeta(c *MetaContext)
}
