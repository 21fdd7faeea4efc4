/** The cases of the suite that Parley fails on purpose. */
interface KnownDifference {
  readonly why: string;
  /** Names of cases. */
  readonly cases: RegExp;
  /** The suite's report of each case. */
  readonly problem: RegExp;
}

const ownDetails =
  'Each error of Parley has its reason and request id in a google.rpc.ErrorInfo. The suite expects no details.';
const oneDetail = /actual error contain 1 details; expecting 0/;
const ownCode =
  'A wrong method or content type is INVALID_ARGUMENT, with details. The suite expects no body of JSON, and reads an answer without one as UNKNOWN.';
const otherCode =
  /actual error {code: 3 |actual error contain 1 details|unexpected end of JSON input|transport connection broken/;

export const knownDifferences: readonly KnownDifference[] = [
  { why: ownDetails, cases: /exceeds-server-limit$/, problem: oneDetail },
  { why: ownDetails, cases: /\/(no-request|multiple-requests)$/, problem: oneDetail },
  { why: ownDetails, cases: /\/incomplete-message(-prefix)?$/, problem: oneDetail },
  { why: ownDetails, cases: /\/unexpected-compressed-message$/, problem: oneDetail },
  {
    why: ownDetails,
    cases: /^gRPC Unexpected Requests.*\/(unexpected-compression|unexpected-uri)$/,
    problem: oneDetail,
  },
  { why: ownDetails, cases: /^Basic.*PROTOCOL_GRPC\/.*\/unimplemented$/, problem: oneDetail },
  { why: ownCode, cases: /\/unexpected-(verb|codec|content-type)$/, problem: otherCode },
];
