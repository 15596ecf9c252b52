package tir

// Program is a function while or after the loop passes make kernels of it: Params, Outputs and Scalars are the
// function's, Kernels run in order, and the buffers of Between pass values from one to the next. A buffer that two
// kernels use is one of Params or Between.
type Program struct {
	Name    string
	Params  []*Buffer
	Outputs int
	Scalars []*Var
	Between []*Buffer
	Kernels []*Kernel
	Stage   string // the loop pass that ran last, as transform.Steps names it; empty when that is not known
}
