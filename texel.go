// Package texel compiles neural networks to native code and runs them.
//
// Compile reads an ONNX model, or Relay text, and makes an artifact: one file with kernels, packed weights and a plan that says in
// which order which kernel runs on which memory. Load maps an artifact, and Model.Run follows its plan:
//
//	compiled, err := texel.Compile(ctx, "model.onnx", texel.Options{})
//	defer compiled.Close()
//	err = compiled.WriteFile("model.texel")
//	model, err := texel.Load("model.texel", texel.LoadOptions{})
//	outputs, err := model.Run(ctx, map[string]*tensor.Tensor{"image": picture})
//
// Errors are *diag.Error and are told apart with errors.Is and the sentinels of package diag. A program that only
// runs artifacts can import package runtime and a device instead, and links no compiler.
package texel
