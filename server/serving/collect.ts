import {
  type ConnectRouter,
  createMethodImplSpec,
  createServiceImplSpec,
  type MethodImplSpec,
} from "@connectrpc/connect"

export type Routes = (router: ConnectRouter) => void

/** The methods that a routes function registers, for transports that Connect does not provide. */
export function collectMethods(routes: Routes): MethodImplSpec[] {
  const methods: MethodImplSpec[] = []
  const router: ConnectRouter = {
    handlers: [],
    service(service, implementation) {
      methods.push(...Object.values(createServiceImplSpec(service, implementation).methods))
      return router
    },
    rpc(method, implementation) {
      methods.push(createMethodImplSpec(method, implementation))
      return router
    },
  }
  routes(router)
  return methods
}
