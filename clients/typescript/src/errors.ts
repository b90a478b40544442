/** The errors that the client throws.
 *
 *     ClientError
 *       + UnreachableError    no answer in time
 *       + ReplyError          a reply that is not whole
 *       + StatusError         a problem document (RFC 9457): `status`, `problem`
 */

import type { ProblemDocument } from "./types.js";

/** Any error of a call. */
export class ClientError extends Error {
  override name: string = "ClientError";
}

/** No answer; `cause` is fetch's own error. */
export class UnreachableError extends ClientError {
  override name = "UnreachableError";
}

/** A reply that is not what the server sends. */
export class ReplyError extends ClientError {
  override name = "ReplyError";
}

/** A problem that the server reports. */
export class StatusError extends ClientError {
  override name = "StatusError";
  readonly status: number;

  constructor(readonly problem: ProblemDocument) {
    super(`${problem.status} ${problem.title}: ${problem.detail}`);
    this.status = problem.status;
  }

  /** The error of a response. One that a proxy sent has no problem document: it gets one. */
  static async of(response: Response): Promise<StatusError> {
    const text = await response.text();
    if (response.headers.get("content-type")?.startsWith("application/problem+json")) {
      return new StatusError(JSON.parse(text) as ProblemDocument);
    }
    return new StatusError({
      type: "about:blank",
      title: response.statusText || "Unknown status",
      status: response.status,
      detail: text.slice(0, 200) || "no problem document",
    });
  }
}
