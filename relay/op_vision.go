package relay

import (
	"github.com/texel-ml/texel/tensor"
)

// NonMaxSuppressionAttrs are the attributes of vision.non_max_suppression.
type NonMaxSuppressionAttrs struct {
	MostBoxes      int  `relay:"most_boxes"`       // of a class, for which the result has room
	CenterPointBox bool `relay:"center_point_box"` // boxes are x, y of the centre, width, height
}

// visionOps are the detection operators.
func visionOps() []*Op {
	return []*Op{{
		Name: "vision.non_max_suppression", Args: []string{"boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"},
		NewAttrs: func() any { return &NonMaxSuppressionAttrs{} }, Infer: inferNonMaxSuppression,
		Eval: evalNonMaxSuppression, Class: Opaque, Lower: "nms",
		Doc: "ONNX NonMaxSuppression (Relay's vision.all_class_non_max_suppression). boxes is (B, N, 4): y1, x1, y2, x2 of two opposite corners; " +
			"scores is (B, C, N). For each batch and class, boxes with a score above score_threshold are taken from the highest score down (the " +
			"lower index first among equal ones), unless their intersection over union with one already taken is above iou_threshold, up to " +
			"max_output_boxes_per_class and most_boxes. These limits are numbers of shape (); a score_threshold of −∞ takes every box. The result " +
			"is a tuple: int64 (M, 3) of batch, class and box, M = B·C·min(N, most_boxes), rows beyond their number filled with −1; and that " +
			"number as int64 (1).",
	}}
}

func inferNonMaxSuppression(s *Site) (Type, error) {
	a, err := attrsOf[NonMaxSuppressionAttrs](s)
	if err != nil {
		return nil, err
	}
	t, err := (&Site{Op: s.Op, Types: s.Types[:2]}).Tensors()
	if err != nil {
		return nil, err
	}
	if _, err := s.Float(0); err != nil {
		return nil, err
	}
	boxes, scores := t[0].Shape, t[1].Shape
	if len(boxes) != 3 || len(scores) != 3 || boxes[2] != 4 || boxes[0] != scores[0] || boxes[1] != scores[2] {
		return nil, s.Illegal("boxes %v and scores %v, wanted (B, N, 4) and (B, C, N)", boxes, scores)
	}
	if a.MostBoxes < 0 {
		return nil, s.Illegal("most_boxes=%d, wanted at least 0", a.MostBoxes)
	}
	for i := 2; i < 5; i++ {
		limit, err := s.Arith(i)
		if err != nil {
			return nil, err
		}
		if len(limit.Shape) > 0 || i == 2 && limit.DType != tensor.Int64 || i > 2 && !limit.DType.IsFloat() {
			return nil, s.Illegal("operand %s has type %v, wanted a number: an int64 of boxes, floats of thresholds", s.operand(i), limit)
		}
	}
	rows, err := s.Result(tensor.Int64, tensor.Shape{scores[0] * scores[1] * min(boxes[1], a.MostBoxes), 3})
	if err != nil {
		return nil, err
	}
	return &TupleType{[]Type{rows, &TensorType{tensor.Shape{1}, tensor.Int64}}}, nil
}
