// Signs and verifies papers with Digital Bazaar's libraries and with jose, for tests/it/interop.rs.
//
// One JSON array of requests on standard input, one array of answers on standard output, in the same order. Contexts
// come from the libraries themselves and controller documents from the request: nothing is fetched.
import {readFileSync} from 'node:fs';
import * as vc from '@digitalbazaar/vc';
import {DataIntegrityProof} from '@digitalbazaar/data-integrity';
import {cryptosuite as eddsa} from '@digitalbazaar/eddsa-rdfc-2022-cryptosuite';
import {cryptosuite as ecdsa} from '@digitalbazaar/ecdsa-rdfc-2019-cryptosuite';
import * as EcdsaMultikey from '@digitalbazaar/ecdsa-multikey';
import * as Ed25519Multikey from '@digitalbazaar/ed25519-multikey';
import * as jose from 'jose';

const MULTIKEY = 'https://w3id.org/security/multikey/v1';
const DID = 'https://www.w3.org/ns/did/v1';

// A loader for the controller documents of one request.
function loaderFor(controllers) {
  const known = new Map();
  for(const controller of controllers ?? []) {
    // A controller document with the context of DID documents is read as it is, without framing.
    known.set(controller.id, {...controller, '@context': [DID]});
    for(const method of controller.verificationMethod) {
      known.set(method.id, {...method, '@context': MULTIKEY});
    }
  }
  return async url => {
    const document = known.get(url);
    return document ? {contextUrl: null, documentUrl: url, document} : vc.defaultDocumentLoader(url);
  };
}

async function suiteFor(key, created) {
  const isEd25519 = key.publicKeyMultibase.startsWith('z6Mk');
  const library = isEd25519 ? Ed25519Multikey : EcdsaMultikey;
  const pair = await library.from({'@context': MULTIKEY, ...key});
  return new DataIntegrityProof({
    signer: pair.signer(), cryptosuite: isEd25519 ? eddsa : ecdsa, date: created
  });
}

const operations = {
  // {credential, keys, created, now}: a proof by each key.
  async issue({credential, keys, created, now}) {
    let issued = credential;
    for(const key of keys) {
      const suite = await suiteFor(key, created);
      issued = await vc.issue({credential: issued, suite, documentLoader: loaderFor(), now: new Date(now)});
    }
    return issued;
  },

  // {presentation, key, challenge, domain, created}
  async present({presentation, key, challenge, domain, created}) {
    const suite = await suiteFor(key, created);
    return vc.signPresentation({presentation, suite, challenge, domain, documentLoader: loaderFor()});
  },

  // {credential, controllers, now}
  async verifyCredential({credential, controllers, now}) {
    return said(await vc.verifyCredential({
      credential, suite: verifiers(), documentLoader: loaderFor(controllers), now: new Date(now)
    }));
  },

  // {presentation, controllers, challenge, domain, now}
  async verifyPresentation({presentation, controllers, challenge, domain, now}) {
    return said(await vc.verify({
      presentation, challenge, domain, suite: verifiers(), documentLoader: loaderFor(controllers), now: new Date(now)
    }));
  },

  // {payload, typ, cty, key}
  async signJws({payload, typ, cty, key}) {
    const algorithm = ALGORITHMS[key.jwk.crv];
    return new jose.CompactSign(new TextEncoder().encode(JSON.stringify(payload)))
      .setProtectedHeader({alg: algorithm, kid: key.id, typ, cty})
      .sign(await jose.importJWK(key.jwk, algorithm));
  },

  // {jws, typ, keys, now}, and of a presentation {audience, nonce}
  async verifyJws({jws, typ, keys, now, audience, nonce}) {
    const {kid} = jose.decodeProtectedHeader(jws);
    const {kty, crv, x, y} = keys.find(({id}) => id === kid).jwk;
    const algorithm = ALGORITHMS[crv];
    try {
      const {payload} = await jose.jwtVerify(jws, await jose.importJWK({kty, crv, x, y}, algorithm), {
        algorithms: [algorithm], typ, audience, currentDate: new Date(now)
      });
      return {verified: payload.nonce === nonce};
    } catch(error) {
      return {verified: false, why: error.message};
    }
  }
};

const ALGORITHMS = {Ed25519: 'EdDSA', 'P-256': 'ES256', 'P-384': 'ES384'};

function verifiers() {
  return [new DataIntegrityProof({cryptosuite: eddsa}), new DataIntegrityProof({cryptosuite: ecdsa})];
}

function said(result) {
  const why = error => [error?.message, ...(error?.errors ?? []).map(why)].filter(Boolean).join(': ');
  return {verified: result.verified === true, ...(result.error && {why: why(result.error)})};
}

const answers = [];
for(const {operation, ...input} of JSON.parse(readFileSync(0, 'utf8'))) {
  try {
    answers.push({answer: await operations[operation](input)});
  } catch(error) {
    answers.push({failure: [error.message, ...(error.errors ?? []).map(e => e.message)].join(': ')});
  }
}
process.stdout.write(JSON.stringify(answers));
