import type { Mutant } from "./mutant.ts"

const access = "server/rpc/messaging/attachment/attachment-access.ts"
const service = "server/rpc/messaging/attachment/attachment-service.ts"
const complete = "server/rpc/messaging/attachment/attachment-complete.ts"
const folder = "server/blobs/fs.ts"
const bucket = "server/blobs/s3.ts"
const story = "test/story/attachments.test.ts"
const strangers = "an attachment does not exist for non-members, and members other than its creator can only read it"

/** Mutants of attachment storage and of the access checks on attachments. */
export const attachmentMutants: readonly Mutant[] = [
  {
    fault: "whoever knows the id reads an attachment",
    file: access,
    from: "  await seen(deps, context, record.conversationId)\n",
    to: "",
    test: story,
    name: strangers,
  },
  {
    fault: "any member writes to an attachment",
    file: access,
    from: "if (record.ownerUserId !== deviceOf(context).userId) throw unresolved()",
    to: "",
    test: story,
    name: strangers,
  },
  {
    fault: "a part may have any size",
    file: service,
    from: "if (data.length !== sizeOfPart(record, index)) {",
    to: "if (sizeOfPart(record, index) === 0) {",
    test: story,
    name: "a part that is too large, too small or out of range is not written",
  },
  {
    fault: "a part that comes too late is left behind",
    file: service,
    from: "await blobs.delete(blobKey(record, index))",
    to: "",
    test: story,
    name: "a part that arrives after its attachment was swept is not left behind",
    row: "a part that arrives after its attachment was %s is not left behind",
  },
  {
    fault: "nobody looks whether the bytes are those that were announced",
    file: complete,
    from: "if (!equalBytes(await hashOf(deps, whole), record.sha256)) {",
    to: "if (record.sha256.length === 0) {",
    test: story,
    name: "an attachment with a wrong hash is not completed until its bytes are corrected",
  },
  {
    fault: "a part is written in its place",
    file: folder,
    from: "const beside = join(temporary, randomUUID())",
    to: "const beside = path",
    test: "server/blobs/fs.test.ts",
    name: "anywhere in a put, leaves the former blob or the new one",
  },
  {
    fault: "a link is followed",
    file: folder,
    from: "O_RDONLY | O_NOFOLLOW | O_NONBLOCK",
    to: "O_RDONLY | O_NONBLOCK",
    test: "server/blobs/fs.test.ts",
    name: "a link in a blob's place is not followed, and a put replaces it",
  },
  {
    fault: "an address takes any size",
    file: bucket,
    from: '...(verb === "PUT" ? { headers: { "content-length": String(size) }, allHeaders: true } : {}),',
    to: "",
    test: "server/blobs/s3.test.ts",
    name: "permits the upload and the download of exactly one part",
  },
  {
    fault: "a part that was lost is read as nothing",
    file: complete,
    from: "if (part === undefined || part.length !== partBytes(record, index)) throw new Refused",
    to: "if (part === undefined) continue\n    if (part.length !== partBytes(record, index)) throw new Refused",
    test: story,
    name: "a part that was lost after its upload is missing, and is not served",
    row: "a part that was %s after its upload is missing, and is not served",
  },
  {
    fault: "a part that was cut short counts as there",
    file: complete,
    from: "part === undefined || part.length !== partBytes(record, index)",
    to: "part === undefined",
    test: story,
    name: "a part that was cut short after its upload is missing, and is not served",
    row: "a part that was %s after its upload is missing, and is not served",
  },
  {
    fault: "a part that was cut short is given out",
    file: service,
    from: "if (data?.length !== size)",
    to: "if (data === undefined)",
    test: story,
    name: "a part that was cut short after its upload is missing, and is not served",
    row: "a part that was %s after its upload is missing, and is not served",
  },
  {
    fault: "what was deleted while it was completed is given back",
    file: complete,
    from: 'completed === undefined || completed.status === "DELETED"',
    to: "completed === undefined",
    test: story,
    name: "an attachment that is deleted during its completion is gone, with its part put through the service",
    row: "an attachment that is deleted during its completion is gone, with its part put %s",
  },
  {
    fault: "a part is found for what was deleted",
    file: complete,
    from: 'added === undefined || added.status === "DELETED"',
    to: "added === undefined",
    test: story,
    name: "an attachment that is deleted during its completion is gone, with its part put straight to the store",
    row: "an attachment that is deleted during its completion is gone, with its part put %s",
  },
]
