import { Prose } from './prose.tsx';
import type { Message, Method, Package, RpcDocument } from './rpc-document.ts';

const kinds: Readonly<Record<Method['kind'], string>> = {
  unary: 'one request, one response',
  server_streaming: 'one request, a stream of responses',
  client_streaming: 'a stream of requests, one response',
  bidi_streaming: 'a stream in both directions',
};

/** The services and messages for gRPC, gRPC-Web and Connect. */
export function RpcView({ document: { packages } }: { readonly document: RpcDocument }) {
  return (
    <>
      <p>
        All are served on this port, with the same functions, checks and charges as the REST paths. Send the
        key as the metadata <code>authorization: Bearer pk_…</code>. Reflection is on, so <code>grpcurl</code>{' '}
        and <code>buf curl</code> need no files. <a href="/docs/guides/clients">Clients</a> begins with an
        empty folder.
      </p>
      <p class="buttons">
        <a href="/docs/parley-proto.tar.gz">All .proto files (tar.gz)</a>
      </p>
      {packages.map((one) => (
        <PackageView key={one.name} content={one} />
      ))}
    </>
  );
}

function PackageView({ content: { name, files, service, messages } }: { readonly content: Package }) {
  return (
    <section aria-labelledby={name}>
      <h2 id={name}>{name}</h2>
      <p class="buttons">
        {files.map((file) => (
          <a key={file} href={`/docs/proto/${file}`}>
            {file.slice(file.lastIndexOf('/') + 1)}
          </a>
        ))}
      </p>
      <h3>{service.name}</h3>
      <Prose text={service.comment} />
      {service.methods.map((method) => (
        <article key={method.path} id={method.path} class="operation">
          <h4>
            <a href={`#${method.path}`}>{method.name}</a> <span class="type">{kinds[method.kind]}</span>
          </h4>
          <p class="path">
            <span class="verb rpc">RPC</span> <code>{method.path}</code>
          </p>
          <Prose text={method.comment} />
          <p>
            <MessageLink name={method.input} /> → {method.kind === 'server_streaming' ? 'stream of ' : ''}
            <MessageLink name={method.output} />
          </p>
          {method.rest !== undefined && <p class="facts">REST: {method.rest}</p>}
        </article>
      ))}
      {messages.map((message) => (
        <MessageView key={message.name} message={message} />
      ))}
    </section>
  );
}

function MessageView({ message: { name, comment, fields } }: { readonly message: Message }) {
  return (
    <article id={name} class="operation">
      <h3>
        <a href={`#${name}`}>{shortName(name)}</a> <span class="type">message</span>
      </h3>
      <Prose text={comment} />
      {fields.length === 0 && <p class="facts">The message has no fields.</p>}
      <dl class="members">
        {fields.map((field) => (
          <div key={field.name}>
            <dt>
              <code>{field.name}</code>{' '}
              <span class="type">
                {field.message === undefined ? field.type : <a href={`#${field.message}`}>{field.type}</a>} ={' '}
                {field.number}
              </span>
              {field.oneof !== undefined && <span class="type"> (one of {field.oneof})</span>}
            </dt>
            <dd>
              <Prose text={field.comment} />
            </dd>
          </div>
        ))}
      </dl>
    </article>
  );
}

function MessageLink({ name }: { readonly name: string }) {
  return (
    <a href={`#${name}`}>
      <code>{shortName(name)}</code>
    </a>
  );
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}
