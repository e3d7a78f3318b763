// The little of WebGL that the 3D view needs: matrices (columns first, z up), programs, buffers.

const sub3 = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const cross3 = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const dot3 = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const unit3 = (a) => { const n = Math.hypot(...a) || 1; return a.map((v) => v / n); };

const multiply = (a, b) => {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++)
      for (let k = 0; k < 4; k++) out[4 * column + row] += a[4 * k + row] * b[4 * column + k];
  return out;
};
const perspective = (fov, aspect, near, far) => {
  const f = 1 / Math.tan(fov / 2), depth = 1 / (near - far);
  return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * depth, -1, 0, 0, 2 * far * near * depth, 0]);
};
const lookAt = (eye, target) => {
  const back = unit3(sub3(eye, target)), right = unit3(cross3([0, 0, 1], back)), up = cross3(back, right);
  return new Float32Array([
    right[0], up[0], back[0], 0, right[1], up[1], back[1], 0, right[2], up[2], back[2], 0,
    -dot3(right, eye), -dot3(up, eye), -dot3(back, eye), 1,
  ]);
};
const placed = ([x, y, heading]) => {
  const c = Math.cos(heading), s = Math.sin(heading);
  return new Float32Array([c, s, 0, 0, -s, c, 0, 0, 0, 0, 1, 0, x, y, 0, 1]);
};
const IDENTITY = placed([0, 0, 0]);

const makeProgram = (gl, vertex, fragment) => {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, "#version 300 es\nprecision highp float;\n" + source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error(gl.getShaderInfoLog(shader));
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error(gl.getProgramInfoLog(program));
  const uniforms = {};
  for (let i = 0; i < gl.getProgramParameter(program, gl.ACTIVE_UNIFORMS); i++) {
    const { name } = gl.getActiveUniform(program, i);
    uniforms[name] = gl.getUniformLocation(program, name);
  }
  return { program, uniforms };
};

// Interleaved floats; `layout` lists [attribute, floats] in order. `perInstance`: one row per instance, not per vertex.
class Vertices {
  constructor(gl, layout, perInstance = false) {
    Object.assign(this, { gl, layout, perInstance, count: 0, buffer: gl.createBuffer() });
    this.row = layout.reduce((sum, [, floats]) => sum + floats, 0);
  }

  fill(values, usage = this.gl.STATIC_DRAW) {
    this.count = values.length / this.row;
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values instanceof Float32Array ? values : new Float32Array(values), usage);
    return this;
  }

  bind({ program }) {
    const { gl } = this;
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    let offset = 0;
    for (const [name, floats] of this.layout) {
      const place = gl.getAttribLocation(program, name);
      if (place >= 0) {
        gl.enableVertexAttribArray(place);
        gl.vertexAttribPointer(place, floats, gl.FLOAT, false, 4 * this.row, 4 * offset);
        gl.vertexAttribDivisor(place, this.perInstance ? 1 : 0);
      }
      offset += floats;
    }
  }

  // Draw, and leave no attribute behind for the next.
  draw(program, instances) {
    const { gl } = this, all = [this, ...(instances ? [instances] : [])];
    for (const vertices of all) vertices.bind(program);
    if (instances) gl.drawArraysInstanced(gl.TRIANGLES, 0, this.count, instances.count);
    else gl.drawArrays(gl.TRIANGLES, 0, this.count);
    for (const [name] of all.flatMap((vertices) => vertices.layout)) {
      const place = gl.getAttribLocation(program.program, name);
      if (place >= 0) { gl.disableVertexAttribArray(place); gl.vertexAttribDivisor(place, 0); }
    }
  }
}
