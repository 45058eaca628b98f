import { create, type DescService, fromBinary, toBinary } from "@bufbuild/protobuf"
import { type Client, createClient, type Transport } from "@connectrpc/connect"
import type { ClientFailure } from "@signet/proto/client/v1/identity_service"
import type { ClientEvent, MessengerService } from "@signet/proto/client/v1/messenger_service"

/** A messenger in another VM, thread or process, called with the messages of the services of signet.client.v1. */
export interface RemoteCore {
  /**
   * Calls a method by its name, such as `MessengerService/Send`.
   *
   * @returns The response message.
   * @throws CoreError
   */
  call(method: string, request: Uint8Array): Promise<Uint8Array>
  /** Calls the listener with each ClientEvent from now on. @returns A function that ends the subscription. */
  subscribe(listener: (event: ClientEvent) => void): () => void
}

/** A call that the core refused, with its typed failure. */
export class CoreError extends Error {
  override readonly name = "CoreError"
  readonly failure: ClientFailure
  get reason(): string {
    return this.failure.reason
  }

  constructor(failure: ClientFailure) {
    super(failure.message)
    this.failure = failure
  }
}

export type CoreCalls = Client<typeof MessengerService>

/** The calls of a service of a core with typed messages. @param toError Maps each rejection. */
export function callsOf<Service extends DescService>(
  core: Pick<RemoteCore, "call">,
  service: Service,
  toError: (cause: unknown) => unknown,
): Client<Service> {
  const prefix = service.typeName.slice(service.typeName.lastIndexOf(".") + 1)
  const transport: Transport = {
    async unary(method, _signal, _timeoutMs, _header, input) {
      const request = toBinary(method.input, create(method.input, input))
      const answer = await core.call(`${prefix}/${method.name}`, request).catch((cause: unknown) => {
        throw toError(cause)
      })
      const message = fromBinary(method.output, answer)
      return { stream: false, service: method.parent, method, header: new Headers(), trailer: new Headers(), message }
    },
    stream: () => Promise.reject(new TypeError("the core has no streaming methods")),
  }
  return createClient(service, transport)
}
