package scheduler

import (
	"cmp"
	"slices"
	"strings"
)

// Images with a sum of sizes up to leastImages count nothing, and each image counts at most mostImage.
const (
	leastImages = 23 << 20
	mostImage   = 1000 << 20
)

// scoreImages prefers the nodes that have large images of the pod. An image counts more if more nodes have it. It has the size
// that the first node says.
func scoreImages(c *cycle, nodes []*node) []int64 {
	if !slices.ContainsFunc(nodes, func(n *node) bool { return len(n.Status.Images) > 0 }) {
		return nil
	}
	names := c.pod.images()
	sums := make([]float64, len(nodes))
	for _, name := range names {
		size, having := int64(0), 0
		for _, n := range c.existing {
			if onNode := n.imageSize(name); onNode > 0 {
				size, having = cmp.Or(size, onNode), having+1
			}
		}
		counted := float64(int64(float64(size) * (float64(having) / float64(len(c.existing)))))
		for i, n := range nodes {
			if n.imageSize(name) > 0 {
				sums[i] += counted
			}
		}
	}
	most := int64(mostImage * len(names))
	scores := make([]int64, len(nodes))
	for i, sum := range sums {
		scores[i] = maxScore * (min(max(int64(sum), leastImages), most) - leastImages) / (most - leastImages)
	}
	return scores
}

// images returns the images of a pod, in the form in which nodes list them.
func (p *podInfo) images() (names []string) {
	for _, container := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		names = append(names, tagged(container.Image))
	}
	for _, v := range p.Spec.Volumes {
		if v.Image != nil {
			names = append(names, tagged(v.Image.Reference))
		}
	}
	return names
}

func tagged(image string) string {
	if strings.LastIndex(image, ":") <= strings.LastIndex(image, "/") {
		return image + ":latest"
	}
	return image
}

// imageSize returns the size of an image that the node has, or 0.
func (n *node) imageSize(name string) int64 {
	for _, image := range n.Status.Images {
		if slices.Contains(image.Names, name) {
			return image.SizeBytes
		}
	}
	return 0
}
