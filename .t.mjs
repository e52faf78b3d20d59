import {generateKeyPairSync,sign,createPrivateKey} from 'node:crypto';
const {privateKey}=generateKeyPairSync('rsa',{modulusLength:2048});const b=Buffer.alloc(430,'x');
const pem=privateKey.export({type:'pkcs8',format:'pem'});
const copies=[createPrivateKey(pem),createPrivateKey(pem),createPrivateKey(pem),createPrivateKey(pem)];
async function run(keys,conc){let n=0,inCall=0;const t=performance.now();const c0=process.cpuUsage();
 await Promise.all(Array.from({length:conc},(_, i)=>new Promise(res=>{const go=()=>{if(performance.now()-t>1500)return res();n++;const s=performance.now();sign('sha256',b,keys[i%keys.length],()=>go());inCall+=performance.now()-s};go()})));
 const c=process.cpuUsage(c0);return `${(n/1.5).toFixed(0)}/s, call ${(inCall*1000/n).toFixed(0)} µs wall, cpu ${((c.user+c.system)/n).toFixed(0)} µs`}
for(let r=0;r<3;r++){console.log('1 key,  conc 2:',await run([privateKey],2));console.log('copies, conc 2:',await run(copies,2));console.log('1 key, conc 1:',await run([privateKey],1));}
