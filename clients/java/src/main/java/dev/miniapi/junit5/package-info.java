/**
 * Kubernetes API servers for tests. {@link dev.miniapi.junit5.MiniapiExtension} gives the tests of a class a {@link
 * dev.miniapi.junit5.MiniapiServer}, which starts in milliseconds and has the whole admission chain, custom resources
 * and RBAC.
 */
package dev.miniapi.junit5;
