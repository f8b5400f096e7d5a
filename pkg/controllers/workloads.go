package controllers

// workloads are the controllers that give workloads their pods, and what pods need.
var workloads = []controller{}
