export { MiniapiError } from "./error.js";
export type * from "./options.js";
export type * from "./protocol.js";
export { type InjectedFault, type Server, type Snapshot, startServer } from "./server.js";
export type * from "./trace.js";
export type * from "./webhooks.js";
export { allowed, denied, patched } from "./webhooks.js";
