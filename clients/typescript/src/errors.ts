/** What the client throws.
 *
 *     ClientError
 *       + UnreachableError    nothing answers, or not in time
 *       + StatusError         a problem document (RFC 9457): `status`, `problem`
 */

import type { ProblemDocument } from "./types.js";

/** Whatever goes wrong in a call. */
export class ClientError extends Error {
  override name: string = "ClientError";
}

/** No answer; `cause` is fetch's own error. */
export class UnreachableError extends ClientError {
  override name = "UnreachableError";
}

/** An answer that says what is wrong. */
export class StatusError extends ClientError {
  override name = "StatusError";
  readonly status: number;

  constructor(readonly problem: ProblemDocument) {
    super(`${problem.status} ${problem.title}: ${problem.detail}`);
    this.status = problem.status;
  }

  /** The error that a reply stands for; a proxy in between has no problem document. */
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
