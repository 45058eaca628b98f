// The messages between a page and the Worker of its messenger. Keys and group states never cross.

/** What the Worker needs at the start. */
export interface WorkerStart {
  readonly appId: string
  readonly tenantId: string | undefined
  readonly userId: string
  /** The only origin that the core may call. */
  readonly baseUrl: string
  /** The database of the messenger. */
  readonly database: string
}

/** A request of the Worker to its page. */
export type PageRequest =
  | { readonly is: "token"; readonly renew: boolean }
  | { readonly is: "fileSize"; readonly path: string }
  | { readonly is: "fileRead"; readonly path: string; readonly offset: number; readonly length: number }
  | { readonly is: "fileWrite"; readonly path: string; readonly bytes: Uint8Array }

/** The value of each answer of a page. */
export interface PageAnswers {
  readonly token: string
  readonly fileSize: number | undefined
  readonly fileRead: Uint8Array
  readonly fileWrite: undefined
}

export type ToWorker =
  | { readonly is: "start"; readonly start: WorkerStart }
  | { readonly is: "call"; readonly id: number; readonly method: string; readonly request: Uint8Array }
  | { readonly is: "answer"; readonly id: number; readonly value: PageAnswers[keyof PageAnswers] }
  /** `failure`: a ClientFailure. */
  | { readonly is: "refusal"; readonly id: number; readonly failure: Uint8Array }
  /** Ends the core, and wipes its memory. */
  | { readonly is: "end" }

export type ToPage =
  | { readonly is: "started" }
  /** The core has failed, or did not start. The Worker answers no more. `failure`: a ClientFailure, if it is typed. */
  | { readonly is: "failed"; readonly message: string; readonly failure?: Uint8Array }
  | { readonly is: "reply"; readonly id: number; readonly response: Uint8Array }
  /** `failure`: a ClientFailure. */
  | { readonly is: "replyFailure"; readonly id: number; readonly failure: Uint8Array }
  /** A ClientEvent. */
  | { readonly is: "event"; readonly event: Uint8Array }
  | { readonly is: "request"; readonly id: number; readonly request: PageRequest }
  /** `isWiped`: the core's memory, of this size, has only zeros. */
  | { readonly is: "ended"; readonly memoryBytes: number; readonly isWiped: boolean }
