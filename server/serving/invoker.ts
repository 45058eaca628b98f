import { create, isMessage, type Message } from "@bufbuild/protobuf"
import { createContextKey, type HandlerContext, type Interceptor, type MethodImplSpec } from "@connectrpc/connect"

export type UnarySpec = MethodImplSpec & { kind: "unary" }
export type Invoke = (message: Message, context: HandlerContext) => Promise<Message>

const kContext = createContextKey<HandlerContext | undefined>(undefined, { description: "handler context" })

/**
 * One unary method behind its interceptors, composed once. Every transport except Connect's own calls through it, so no
 * transport omits an interceptor.
 */
export function invoker({ method, impl }: UnarySpec, interceptors: readonly Interceptor[]): Invoke {
  const handle: ReturnType<Interceptor> = async (req) => {
    const context = req.contextValues.get(kContext)
    if (req.stream || context === undefined) throw new Error(`${method.name} was not called through its invoker`)
    const answer = await impl(req.message, context)
    return {
      stream: false,
      service: method.parent,
      method,
      message: isMessage(answer) ? answer : create(method.output, answer),
      // Created only when an interceptor reads it; most do not.
      get header() {
        return context.responseHeader
      },
      get trailer() {
        return context.responseTrailer
      },
    }
  }
  const call = interceptors.reduceRight((next, interceptor) => interceptor(next), handle)
  return async (message, context) => {
    context.values.set(kContext, context)
    const answer = await call({
      stream: false,
      service: method.parent,
      method,
      requestMethod: context.requestMethod,
      message,
      contextValues: context.values,
      get url() {
        return context.url
      },
      get signal() {
        return context.signal
      },
      get header() {
        return context.requestHeader
      },
    })
    if (answer.stream) throw new Error(`${method.name} answered with a stream`)
    return answer.message
  }
}
