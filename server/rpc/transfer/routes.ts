import { TransferService } from "@signet/proto/transfer/v1/transfer_service"
import type { Routes } from "../../serving/collect.ts"
import { type TransferDeps, transferService } from "./transfer-service.ts"

export const transferRoutes =
  (deps: TransferDeps): Routes =>
  (router) => {
    router.service(TransferService, transferService(deps))
  }
