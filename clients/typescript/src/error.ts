/** An error of miniapi: the host has refused a request, has ended, or can't be started. */
export class MiniapiError extends Error {
  override readonly name = "MiniapiError";
}
