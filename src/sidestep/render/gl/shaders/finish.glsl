// Ray of this pixel, per metre of depth, in the world.
vec3 ray() {
    return forward.xyz + left.xyz * ((lens.z - gl_FragCoord.x) / lens.x) + up.xyz * ((lens.w - gl_FragCoord.y) / lens.y);
}

// Fog, exposure, film curve (Narkowicz's fit of ACES), sRGB. Pictures to be read again keep roots of the light instead.
vec4 filmed(vec3 light, float depth) {
    float x = depth * fog_rgb.w;
    light = fog_rgb.rgb + (light - fog_rgb.rgb) / (1.0 + x * (1.0 + 0.5 * x));
#ifdef MIRRORED
    return vec4(sqrt(clamp(light, 0.0, 4.0) / 4.0), 1.0);
#else
    light = clamp(light, 0.0, 4.0) * cloud_rgb.w;
    vec3 film = clamp(light * (2.51 * light + 0.03) / (light * (2.43 * light + 0.59) + 0.14), 0.0, 1.0);
    return vec4(mix(1.055 * pow(film, vec3(1.0 / 2.4)) - 0.055, 12.92 * film, lessThanEqual(film, vec3(0.0031308))), 1.0);
#endif
}
