/** Why a webhook was called for an object or not, or why a policy was evaluated or not. */
export interface Answer {
  webhook: { kind: string; name: string; part?: string };
  /** The server has called the webhook, or would call it if evaluated is true. */
  called: boolean;
  /** The reason is a word such as "ObjectSelector", and the field is the one that decides. */
  verdict: { reason: string; text: string; field?: string; want?: string; got?: string };
  /** The answer as a sentence. */
  sentence: string;
  /** The number of the request. */
  request?: number;
  /** No request is recorded, and the answer is about one that would create the object. */
  evaluated?: boolean;
}

/** A recorded request with the decisions of admission, in the form of `miniapi trace -o json`. */
export interface TracedRequest {
  id: number;
  verb: string;
  resource: string;
  namespace?: string;
  name?: string;
  user: { name: string; groups?: string[] };
  code?: number;
  [field: string]: unknown;
}

/** An object, as "RESOURCE/NAME" or "RESOURCE/NAMESPACE/NAME". */
export type ObjectName = `${string}/${string}`;
